# SPDX-License-Identifier: GPL-3.0-or-later
# The tools of those who change mdbg.

# Commits `lines` new lines with this message; what the hook says, or "".
proc commit_with {lines message} {
	set file [open $::tmp/repo/file a]
	puts -nonewline $file [string repeat "new\n" $lines]
	close $file
	exec git -C $::tmp/repo add file
	return [expr {[catch {exec git -C $::tmp/repo commit -q -m $message 2>@1} said] ? $said : ""}]
}

case commit-messages 30 {
	need git
	foreach name {AUTHOR COMMITTER} {
		set ::env(GIT_${name}_NAME) tester
		set ::env(GIT_${name}_EMAIL) tester@localhost
	}
	foreach name [array names ::env GIT_*] {
		if {![regexp {_(NAME|EMAIL)$} $name]} {
			unset ::env($name)
		}
	}
	set ::env(GIT_CONFIG_GLOBAL) /dev/null
	exec git init -q $::tmp/repo
	file mkdir $::tmp/repo/.git/hooks
	file link $::tmp/repo/.git/hooks/commit-msg [file normalize $::here/../../scripts/dev/commit-msg]
	set long [string repeat o 65]
	set body "\n\nThe problem, and why it is solved this way."
	foreach {lines message want} [list \
		30 "os: look first$body"			"" \
		3 "os: look first"				"" \
		30 "os: loo${long}k$body"			"*more than 72 characters*" \
		30 "os: l\u00f6${long}k$body"	"" \
		30 "os: look first"				"*no body, and * lines*" \
		30 "os: look first\nThe problem."		"*no empty line*" \
		30 "Look first$body"				"*'layer: what is done'*" \
		30 "os: look first.$body"			"*without a full stop*" \
		30 "fixup! os: look first"			"" \
	] {
		check {[string match $want [set said [commit_with $lines $message]]]} {$lines lines, "$message": $said}
	}
}

# --- one of each: what CONTRIBUTING.md says of the tables is so ---------------------------------------------------

# The text of a makefile in the build folder, with what lies below top as it is below to.
proc moved_paths {text top to} {
	set moved ""
	set at 0
	foreach span [regexp -all -inline -indices {[^\s:\\]+} $text] {
		lassign $span first last
		set path [file normalize [file join $::build [string range $text $first $last]]]
		append moved [string range $text $at $first-1]
		if {[string match $top/src/* $path]} {
			append moved $to [string range $path [string length $top] end]
		} elseif {[string match $::build/* $path]} {
			append moved [string range $text $first $last]
		} else {
			append moved $path
		}
		set at [expr {$last + 1}]
	}
	return $moved[string range $text $at end]
}

# A copy of what mdbg is made of, and of the build: make compiles only what is changed there.
proc copy_tree {top to} {
	file mkdir $to/build
	exec cp -a {*}[lmap name {src scripts configure Makefile.in} {string cat $top/ $name}] $to
	exec cp -a {*}[lmap name {obj lib gen Makefile config.mak} {string cat $::build/ $name}] $to/build
	set time [file mtime $to/build/config.mak]
	spit $to/build/config.mak [regsub -line {^srcdir = .*} [slurp $to/build/config.mak] "srcdir = $to"]
	file mtime $to/build/config.mak $time
	foreach path [exec find $to/build/obj -name *.d] {
		spit $path [moved_paths [slurp $path] $top $to]
	}
}

# Put text into a file of the copy, behind the first match of a pattern.
proc put_behind {path pattern text} {
	set old [slurp $path]
	check {[regexp -indices $pattern $old match]} {$path has no $pattern}
	spit $path [string range $old 0 [lindex $match 1]]$text[string range $old [lindex $match 1]+1 end]
}

# A program with an allocator that nobody knows: pool_get and pool_put. A line of input has it take a hundred blocks.
set pool_program {
	#include <stdio.h>
	#include <stddef.h>

	static _Alignas(16) char room[1 << 16], line[80];
	static size_t used;

	__attribute__((noinline)) void *pool_get(size_t size)
	{
		used += size;
		return room + used - size;
	}

	__attribute__((noinline)) void pool_put(void *block)
	{
		used -= block == room;
	}

	int main(void)
	{
		puts("ready");
		while (fflush(stdout), fgets(line, sizeof(line), stdin)) {
			for (int i = 0; i < 100; i++)
				pool_get(48);
			pool_put(NULL);
			puts("ok");
		}
		return 0;
	}
}

# One of each: a column, `pages`; a command, `malloc pages`; a format, `sums`; an allocator, `pool`, that of the program
# above; an attribute, `page`.
proc add_one_of_each {src} {
	put_behind $src/answer/block_rows.h {struct block_row \{\n} "\tuint64_t pages;\n"
	put_behind $src/answer/block_rows.c {\.address = block->address,\n(?=\t\t\.size = block->size,\n\t\t\.usable)} \
		"\t\t.pages = (block->address + block->size - 1) / 4096 - block->address / 4096 + 1,\n"
	put_behind $src/answer/block_rows.c {block_columns\[\] = \{\n} {	{ "pages", ">PAGES", "that it lies in", IS(NUMBER, pages), .flags = COLUMN_VERBOSE, .width = 8 },
}
	put_behind $src/cmd/shell/cmd.h {X\(malloc\) } "X(malloc_pages) "
	spit $src/cmd/malloc_pages.c {
		#include "cmd/shell/cmd.h"

		static struct err *run(struct call *call)
		{
			out_text(call->out, "4096 bytes each\n");
			return NULL;
		}

		const struct cmd cmd_malloc_pages = {
			.name		= "malloc pages",
			.brief		= "how large a page is",
			.run		= run,
		};
	}
	put_behind $src/export/format_list.h {extern const struct export_format } "export_sums, "
	put_behind $src/export/export_formats.c {export_formats\[\] = \{\n} "\t&export_sums,\n"
	spit $src/export/sums.c {
		#include "export/export_file.h"
		#include "export/format_list.h"
		#include "export/model.h"

		static struct err *write_sums(const struct model *model, struct export_file *file)
		{
			export_file_text(file, "bytes ");
			export_file_number(file, model->bytes);
			export_file_text(file, "\n");
			return export_file_check(file);
		}

		const struct export_format export_sums = {
			.name	= "sums",
			.brief	= "one line with the sum of all bytes",
			.wants	= EXPORT_ANY,
			.write	= write_sums,
		};
	}
	put_behind $src/probe/allocators.h {extern const struct allocator } "allocator_pool, "
	put_behind $src/probe/allocators.c {table\[\] = \{\n} "\t&allocator_pool,\n"
	spit $src/probe/allocator_pool.c {
		#include "probe/alloc_functions.h"

		static const struct alloc_function functions[] = {
			NEW("pool_get", "pool_get", 0),
			FREE("pool_put", "pool_put", 0),
		};

		const struct allocator allocator_pool = {
			.name	= "pool",
			FUNCTIONS(functions),
		};
	}
	put_behind $src/heap/filter.h {FILTER_MODULE, FILTER_TYPE,\n} "\tFILTER_PAGE,\n"
	put_behind $src/heap/filter_parse.c {\} attrs\[\] = \{\n} "\t{ \"page\", FILTER_PAGE, false },\n"
	put_behind $src/heap/filter.c {switch \(attr\) \{\n} "\tcase FILTER_PAGE:\n\t\t*ret = block->address / 4096;\n\t\treturn true;\n"
}

# The files of src that the table in CONTRIBUTING.md names, with the names of the new ones.
proc files_of_table {top} {
	regexp {\n## One of each\n(.*?)\n## } [slurp $top/CONTRIBUTING.md] - section
	set files {}
	foreach {- path} [regexp -all -inline {`(src/[^`]+)`} $section] {
		dict set files [string map {malloc_NAME malloc_pages allocator_NAME allocator_pool NAME sums} $path] 1
	}
	return [lsort [dict keys $files]]
}

proc changed_files {top to} {
	catch {exec diff -rq $top/src $to/src} said
	set files {}
	foreach line [split $said \n] {
		if {[regexp {^Files \S*/(src/\S+) and } $line - path]} {
			lappend files $path
		} elseif {[regexp {^Only in \S*/(src/\S+): (\S+)$} $line - folder name]} {
			lappend files $folder/$name
		}
	}
	return [lsort $files]
}

case one-of-each 150 {
	skip_if_sanitized "it builds mdbg, and not by sanitizers"
	need sqlite3
	set top [file normalize $::here/../..]
	set to $::tmp/tree
	copy_tree $top $to
	add_one_of_each $to/src
	check {[set changed [changed_files $top $to]] eq [files_of_table $top]} \
		{CONTRIBUTING.md names [files_of_table $top]; what had to be changed is $changed}
	# Without optimization, as it is built for this case alone. That is a warning to the C library's checks.
	exec make -s -j2 -C $to/build mdbg "CFLAGS=-O0 -Werror" HARDEN_CFLAGS=-fPIE >@stdout 2>@1
	set ::mdbg_program $to/build/mdbg

	exec [need gcc] -O1 -rdynamic -x c -o $::tmp/pool - << $::pool_program
	set t [start_command $::tmp/pool]
	set m [live_start -p [pid_of $t]]
	order $t go
	set allocations "function == pool_get"
	check {[string match "*PAGES*" [live $m "malloc allocations -v $allocations"]]} {the table has no column}
	set block [lindex [live_value $m "mdbg::allocations $allocations limit 1"] 0]
	check {[dict get $block pages] in {1 2}} {the column is not in $block}
	check {[regexp -line {^    pages +that it lies in$} [live $m "help mdbg::allocations"]]} {help has no column}
	foreach {format pattern} {csv {^pages,|,pages,} json {"pages": ?[12]}} {
		live $m "export $format $::tmp/$format allocations $allocations"
		check {[regexp -line $pattern [slurp $::tmp/$format]]} {$format has no column: [string range [slurp $::tmp/$format] 0 400]}
	}
	live $m "export sqlite $::tmp/db allocations $allocations"
	check {[exec sqlite3 -readonly $::tmp/db {SELECT min(pages) FROM allocations}] == 1} {SQL has no column}

	check {[live $m "malloc pages"] eq "4096 bytes each"} {the command does not answer}
	check {[regexp -line {^malloc pages +how large} [live $m help]]} {help has no command}

	live $m "export sums $::tmp/sums"
	check {[regexp {^bytes [1-9]\d*\n$} [slurp $::tmp/sums]]} {the format says [slurp $::tmp/sums]}
	check {[regexp -line {^    sums +one line with} [set help [live $m "help export"]]]} {help has no format}
	check {[regexp {growth KIND [^.]*\.{3}[^.]*\msums\M} $help]} {help does not say that it has growth: $help}

	check {[regexp -line {^ *pool_get\M.*(jump|breakpoint)} [live $m "malloc -v"]]} {the allocator is not watched}
	check {[llength [live_value $m "mdbg::allocations $allocations"]] == 100} {its blocks are not recorded}

	set page [expr {[dict get $block address] / 4096}]
	set found [live_value $m "mdbg::allocations page == $page"]
	check {[lsearch -exact [lmap one $found {dict get $one address}] [dict get $block address]] >= 0} {the attribute finds $found}
	live_end $m
	order $t go
}
