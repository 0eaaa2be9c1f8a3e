#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# log_tsan.sh [TIMES]: writers and readers of the log at once, with pauses between all steps, and under ThreadSanitizer;
# TIMES makes it longer (1).
# Status 77: this compiler has no ThreadSanitizer, or it does not run here.

set -u
source=$(cd "$(dirname "$0")/../.." && pwd)
cc=${CC:-cc}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

hammer() {
	# shellcheck disable=SC2086
	$cc -std=gnu11 -D_GNU_SOURCE -O1 -g -pthread -I"$source/src" -I"$source/tests/unit/log" "$@" \
		-o "$dir/log_tsan" "$source"/tests/torture/log_tsan.c "$source"/tests/unit/log/hammer.c "$source"/tests/unit/log/free_history_hammer.c \
		"$source"/tests/unit/log/deferred_hammer.c \
		"$source"/src/log/*.c "$source"/src/base/*.c -llzma || exit 1
	TSAN_OPTIONS="halt_on_error=1 exitcode=66" "$dir/log_tsan" "$times"
}

times=${1:-1}
hammer -include "$source/tests/torture/log_pause.h" || exit 1
echo 'int main(void) { return 0; }' >"$dir/try.c"
if ! $cc -fsanitize=thread -o "$dir/try" "$dir/try.c" 2>/dev/null || ! "$dir/try" 2>/dev/null; then
	echo "log_tsan: no ThreadSanitizer here"
	exit 77
fi
hammer -fsanitize=thread
