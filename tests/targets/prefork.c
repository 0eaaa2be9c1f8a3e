/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A parent with N workers, as a prefork server has them, all of the name that its second argument is. The workers wait, and
 * end with their parent. Workers are numbered from 0.
 *
 *	prefork N NAME
 *	pids			`ok PID...` of the workers
 *	leak I MB		worker I takes so many MB, and keeps them
 *	renew I			worker I ends, and another one takes its place: `ok PID`
 *	verify, quit
 */
#include "target.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define WORKERS		64
#define BASE		(3u << 20)	/* bytes that each worker has */

static struct worker {
	pid_t pid;
	int to, from;
} worker[WORKERS];

static int nr;

static void take_memory(size_t bytes)
{
	char *block = malloc(bytes);

	KEEP(block);
	memset(block, 1, bytes);
}

/* A worker takes as many MB as each byte says, and answers. */
static void work(int in, int out)
{
	unsigned char mb;

	take_memory(BASE);
	do {
		if (write(out, "", 1) != 1 || read(in, &mb, 1) != 1)
			_exit(0);
		take_memory((size_t)mb << 20);
	} while (1);
}

static void make(struct worker *is)
{
	int in[2], out[2];
	char ready;

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		_exit(2);
	is->pid = fork();
	if (!is->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0; i < nr; i++) {
			close(worker[i].to);
			close(worker[i].from);
		}
		close(in[1]);
		close(out[0]);
		work(in[0], out[1]);
	}
	close(in[0]);
	close(out[1]);
	is->to = in[1];
	is->from = out[0];
	if (is->pid < 0 || read(is->from, &ready, 1) != 1)
		_exit(2);
}

static void renew(struct worker *is)
{
	close(is->to);
	close(is->from);
	kill(is->pid, SIGKILL);
	waitpid(is->pid, NULL, 0);
	make(is);
}

static void leak(const struct worker *is, unsigned char mb)
{
	char done;

	if (write(is->to, &mb, 1) != 1 || read(is->from, &done, 1) != 1)
		_exit(2);
}

static void say_pids(void)
{
	char text[WORKERS * 12] = "ok";
	size_t len = 2;

	for (int i = 0; i < nr; i++)
		len += (size_t)sprintf(text + len, " %d", worker[i].pid);
	say("%s", text);
}

int main(int argc, char **argv)
{
	int wanted = argc > 2 ? atoi(argv[1]) : 0, number, mb;
	char *line;

	if (wanted < 1 || wanted > WORKERS)
		return 2;
	prctl(PR_SET_NAME, argv[2]);
	for (; nr < wanted; nr++)
		make(&worker[nr]);
	say_ready();
	while ((line = hear()) && !after(line, "quit")) {
		if (after(line, "pids")) {
			say_pids();
		} else if (sscanf(line, "leak %d %d", &number, &mb) == 2 && number < nr) {
			leak(&worker[number], (unsigned char)mb);
			say("ok");
		} else if (sscanf(line, "renew %d", &number) == 1 && number < nr) {
			renew(&worker[number]);
			say("ok %d", worker[number].pid);
		} else {
			say("%s", after(line, "verify") ? "ok" : "bad command");
		}
	}
	for (int i = 0; i < nr; i++)
		kill(worker[i].pid, SIGKILL);
	while (wait(NULL) > 0)
		;
	return 0;
}
