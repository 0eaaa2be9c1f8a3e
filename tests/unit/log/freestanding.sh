#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The files of the log that run in the target must need nothing from outside: no libc, no memcpy or memset of the compiler's making.

set -u
source=$(cd "$(dirname "$0")/../../.." && pwd)
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

status=0
seen=
for cc in ${CC:-cc} gcc clang; do
	program=$(command -v "$cc") && program=$(readlink -f "$program") || continue
	# cc is mostly another name of gcc.
	case " $seen " in *" $program "*) continue ;; esac
	seen="$seen $program"
	for optimise in -O1 -O2 -O3 -Os; do
		objects=
		for name in log_deferred directory free_history log_layout ledger log_record registry stack_table block_table log_view; do
			"$cc" -std=gnu11 -I"$source/src" -Wall -Wextra $optimise -ffreestanding -fpic -mgeneral-regs-only \
				-fno-stack-protector -nostdlib -fcf-protection=none -c -o "$dir/$name.o" \
				"$source/src/log/$name.c" || exit 1
			objects="$objects $dir/$name.o"
		done
		# shellcheck disable=SC2086
		ld -r -o "$dir/all.o" $objects || exit 1
		if [ "$(nm -u "$dir/all.o" | grep -v _GLOBAL_OFFSET_TABLE_)" ]; then
			echo "$cc $optimise: $(nm -u "$dir/all.o" | tr -s ' \n' ' ')"
			status=1
		fi
	done
done
exit $status
