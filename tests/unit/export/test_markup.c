/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hostile names in markup and in scripts. */

#include <fcntl.h>

#include "export/export_file.h"
#include "export/markup.h"
#include "unit.h"

static void writes(void (*write_text)(struct export_file *file, const char *text, size_t most),
		   const char *text, size_t most, const char *wanted)
{
	char path[64], found[512] = "";
	struct export_file *file;
	int fd;

	snprintf(path, sizeof(path), "/tmp/mdbg-markup-%d", (int)getpid());
	CU_ASSERT_PTR_NULL_FATAL(export_file_begin(path, false, &file));
	write_text(file, text, most);
	CU_ASSERT_PTR_NULL_FATAL(export_file_end(file, NULL));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CU_ASSERT_FATAL(fd >= 0 && read(fd, found, sizeof(found) - 1) >= 0);
	close(fd);
	unlink(path);
	CU_ASSERT_STRING_EQUAL(found, wanted);
}

TEST("quotes markup")
{
	writes(markup_write, "</title><script>'x' & \"y\"</script>", MARKUP_WHOLE,
	       "&lt;/title&gt;&lt;script&gt;&#39;x&#39; &amp; &quot;y&quot;&lt;/script&gt;");
	writes(markup_write, "]]>", MARKUP_WHOLE, "]]&gt;");
	writes(markup_write, "std::vector<int>::operator[]", MARKUP_WHOLE,
	       "std::vector&lt;int&gt;::operator[]");
}

TEST("quotes json")
{
	writes(markup_json, "</script><!--\"\\&", MARKUP_WHOLE,
	       "\"\\u003c/script\\u003e\\u003c!--\\\"\\\\\\u0026\"");
	writes(markup_json, "", MARKUP_WHOLE, "\"\"");
}

TEST("shows what is obeyed")
{
	writes(markup_write, "a\nb\t\033[31m\177\377\342\200\256", MARKUP_WHOLE,
	       "a\\nb\\t\\x1b[31m\\x7f\\xff\\u202e");
	writes(markup_json, "a\nb\033", MARKUP_WHOLE, "\"a\\\\nb\\\\x1b\"");
	/* UTF-8, but no character of XML. */
	writes(markup_write, "x\357\277\276\357\277\277\357\277\275\303\244", MARKUP_WHOLE,
	       "x\357\277\275\357\277\275\357\277\275\303\244");
}

TEST("cuts between characters")
{
	writes(markup_write, "abcdef", 6, "abcdef");
	writes(markup_write, "abcdef", 3, "abc\342\200\246");
	writes(markup_write, "ab\303\244\303\244", 3, "ab\342\200\246");
	writes(markup_write, "<<<<", 2, "&lt;&lt;\342\200\246");
	/* Nothing but bytes that continue a character. */
	writes(markup_write, "\200\200\200", 2, "\342\200\246");
}

