# SPDX-License-Identifier: GPL-3.0-or-later
# A shell whose environment grows: it runs a program for each job, and exports a variable that it
# never unsets.
#
#	jobs N		N of them: `ok`
#	spin N		N turns of a loop of the shell alone: `ok MICROSECONDS`
#	verify, quit

job=0

export_jobs() {
	local end=$((job + $1))
	for (( ; job < end; job++)); do
		export "JOB_$job=the state of job $job"
		/bin/true
	done
}

spin() {
	local begun=$EPOCHREALTIME i text
	for ((i = 0; i < $1; i++)); do
		text="the state of job $i"
		text=${text//job/task}
	done
	echo "ok $((${EPOCHREALTIME/./} - ${begun/./}))"
}

echo "ready $$"
while read -r order number; do
	case $order in
		jobs) export_jobs "$number" && echo ok ;;
		spin) spin "$number" ;;
		verify) [[ $job == 0 || $(env) == *"JOB_$((job - 1))=the state of job $((job - 1))"* ]] && echo ok || echo bad ;;
		quit) exit 0 ;;
		*) echo bad ;;
	esac
done
