#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# log_model.sh [quick|long]: check the models of the tables' slot protocol (log.pml) and of the directory (directory.pml)
# in all interleavings, and that the models can fail: each BROKEN variant must. The quick form takes seconds, the long one minutes and
# four gigabytes. Status 77: no spin here.

set -u
here=$(cd "$(dirname "$0")" && pwd)
model=log.pml
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
command -v spin >/dev/null || { echo "log_model: spin is not installed"; exit 77; }

# The C compiler takes longer to optimise a checker of log.pml than the quick form takes to run it, and one that finds an
# error ends early.
searching=-O0
exhaustive=-O2

# verify OPTION...: prints the number of errors, or what went wrong.
verify() {
	(
		cd "$dir" && rm -f pan* ./*.trail && spin -a "$@" "$here/$model" >spin.out 2>&1 &&
		${CC:-cc} $optimise -DSAFETY -DCOLLAPSE -DVECTORSZ=2048 -w -c pan.c && ${CC:-cc} -o pan pan.o &&
		./pan -E -m100000 >pan.out 2>&1
		[ -f pan.out ] || exit
		grep -q 'max search depth too small\|out of memory' pan.out && echo "incomplete" && exit
		sed -n 's/.*errors: \([0-9]*\).*/\1/p' pan.out
	)
}

status=0
expect() {
	want=$1
	shift
	optimise=$exhaustive
	[ "$want" = none ] || optimise=$searching
	got=$(verify "$@")
	case $want:$got in
	none:0 | some:[1-9]*)
		echo "log_model: $model $* -> $got errors, $(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$dir/pan.out") states" ;;
	*)
		echo "log_model: FAIL $model $*: expected $want errors, got ${got:-no answer}"
		tail -n 5 "$dir/spin.out" "$dir/pan.out" 2>/dev/null
		status=1 ;;
	esac
}

[ "${1-}" != quick ] || exhaustive=-O0
expect none -DROUNDS=1
expect none -DROUNDS=1 -DKILL
expect some -DROUNDS=1 -DWORD -DBROKEN_FILL
expect some -DROUNDS=2 -DBROKEN_TAG
expect some -DROUNDS=2 -DBROKEN_GHOST
expect some -DROUNDS=2 -DBROKEN_FORGET
if [ "${1-}" != quick ]; then
	expect none -DROUNDS=1 -DWORD
	expect some -DROUNDS=1 -DWORD -DBROKEN_SEQUENCE
	expect some -DROUNDS=1 -DWORD -DBROKEN_READER
	expect some -DROUNDS=1 -DWORD -DBROKEN_REPLACE
fi
if [ "${1-}" = long ]; then
	expect none -DROUNDS=2 -DKILL
	expect none -DROUNDS=1 -DSCAN
	expect none -DROUNDS=1 -DWORD -DKILL
fi
model=directory.pml
exhaustive=-O2
expect none
expect none -DKILL
expect some -DBROKEN_ORDER
expect some -DBROKEN_PRESENCE
expect some -DBROKEN_ABSENCE
expect some -DBROKEN_RETIRE
expect some -DKILL -DBROKEN_SET
expect none -DHALVES -DROUNDS=1
expect some -DHALVES -DROUNDS=1 -DBROKEN_HALVES
expect some -DHALVES -DROUNDS=1 -DBROKEN_SWAP
[ "${1-}" = long ] && expect none -DROUNDS=4 -DKILL
exit $status
