/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies the memory of a program that stands still (live_image.h). */

#include "live_image.h"

#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/compiler.h"
#include "base/page.h"
#include "log/log.h"
#include "unit.h"

#define PIECE_MOST	(1ull << 30)
#define ROUNDS		(UNIT_SANITIZED ? 200u : 1000u)
#define FORGED_FEW	4u

static void note(struct live_image *image, uint64_t address, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i + 8 <= len; i += 8) {
		uint64_t word;

		memcpy(&word, bytes + i, sizeof(word));
		if (word && vec_push(&image->noted, address + i))
			abort();
	}
}

static struct err *read_piece(struct memory *memory, uint64_t addr, void *buf, size_t len,
			      size_t *len_ret)
{
	struct live_image *image = (struct live_image *)memory;
	size_t low = LOWER_BOUND(i, 0, image->nr_pieces,
				 image->piece[i].start + image->piece[i].len <= addr);
	const struct live_piece *piece = &image->piece[low];

	if (low == image->nr_pieces || addr < piece->start)
		return err_create(ERR_MEMORY, "cannot read memory at 0x%" PRIx64, addr);
	*len_ret = MIN(len, (size_t)(piece->start + piece->len - addr));
	memcpy(buf, piece->bytes + (addr - piece->start), *len_ret);
	if (image->note && addr % 8 == 0)
		note(image, addr, buf, *len_ret);
	return NULL;
}

static pid_t start(const char *program, const char *preload, FILE **to, FILE **from)
{
	int in[2], out[2];
	pid_t pid;

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		abort();
	pid = fork();
	if (!pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		if (preload)
			setenv("LD_PRELOAD", preload, 1);
		execl(program, program, "4", (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	*to = fdopen(in[1], "w");
	*from = fdopen(out[0], "r");
	return pid;
}

static int by_address(const void *a, const void *b)
{
	const struct live_block *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

/* What it says it holds; false: it has ended. */
static bool read_truth(struct live_image *image, FILE *from)
{
	size_t room = 0;
	char line[256];

	while (fgets(line, sizeof(line), from)) {
		struct live_block block;

		if (!strncmp(line, "end ", 4)) {
			qsort(image->block, image->nr_blocks, sizeof(*image->block), by_address);
			return image->nr_blocks == (size_t)atol(line + 4);
		}
		if (sscanf(line, "0x%" SCNx64 " %" SCNu64, &block.address, &block.size) != 2)
			continue;
		if (image->nr_blocks == room) {
			room = room ? 2 * room : 1024;
			image->block = realloc(image->block, room * sizeof(block));
		}
		image->block[image->nr_blocks++] = block;
	}
	return false;
}

/* Most pages of a large one were never touched: they are not touched here either. */
static void copy_piece(struct live_image *image, int memory, uint64_t start, uint64_t end,
		       bool anonymous)
{
	struct live_piece *piece = &image->piece[image->nr_pieces];
	static const char zeros[PAGE];
	char page[PAGE];

	if (image->nr_pieces == LIVE_PIECES || end - start > PIECE_MOST)
		return;
	*piece = (struct live_piece){ start, end - start, calloc(1, end - start) };
	for (uint64_t at = 0; at < piece->len; at += PAGE)
		if (pread(memory, page, PAGE, (off_t)(start + at)) == PAGE && memcmp(page, zeros, PAGE))
			memcpy(piece->bytes + at, page, PAGE);
	image->map[image->nr_pieces++] = (struct heap_map){
		.start = start, .end = end, .anonymous = anonymous };
}

/* A module's data are its mappings, and the anonymous one right behind them, which has its bss. */
static void copy_memory(struct live_image *image, pid_t pid, const char *module)
{
	uint64_t start, end, module_end = 0;
	char path[64], line[512], how[8];
	FILE *maps;
	int memory, at;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "r");
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	memory = open(path, O_RDONLY | O_CLOEXEC);
	while (maps && memory >= 0 && fgets(line, sizeof(line), maps)) {
		bool of_module, anonymous = !strchr(line, '/');

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s%n", &start, &end, how, &at) != 3)
			continue;
		of_module = strstr(line + at, module) || (anonymous && start == module_end);
		module_end = of_module ? end : module_end;
		if (strncmp(how, "rw-p", 4) || strstr(line, "[v") || strstr(line, "[stack"))
			continue;
		if (of_module && image->libc.nr_data < LIVE_DATA)
			image->data[image->libc.nr_data++] = (struct heap_map){ .start = start, .end = end };
		copy_piece(image, memory, start, end, anonymous);
	}
	if (maps)
		fclose(maps);
	close(memory);
}

void live_image_take(struct live_image *image, const char *of, const char *program,
		     const char *preload, const char *module)
{
	FILE *to, *from;
	pid_t pid;

	*image = (struct live_image){ .of = of, .memory.read = read_piece };
	pid = start(program, preload, &to, &from);
	signal(SIGPIPE, SIG_IGN);
	fputs("steady 6000\ngo\nmore 2000\npause\nlist\n", to);
	fflush(to);
	if (read_truth(image, from))
		copy_memory(image, pid, module);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	fclose(to);
	fclose(from);
	image->libc.data = image->data;
	image->source = (struct heap_source){ .memory = &image->memory, .map = image->map,
					      .nr_maps = image->nr_pieces, .libc = &image->libc,
					      .nr_libcs = 1, .all_threads = true };
}

void live_image_take_library(struct live_image *image, const char *name)
{
	char path[64], program[512];
	glob_t found;

	image->of = name;
	snprintf(path, sizeof(path), "/usr/lib/*/%s.so.2", name);
	snprintf(program, sizeof(program), "%s/targets/known", getenv("MDBG_BUILD"));
	if (!glob(path, 0, NULL, &found))
		live_image_take(image, name, program, found.gl_pathv[0], name);
	globfree(&found);
}

bool live_image_is_there(const struct live_image *image)
{
	char why[64];

	snprintf(why, sizeof(why), "%s is not installed", image->of);
	if (!image->nr_pieces)
		unit_skip(why);
	return image->nr_pieces;
}

void live_image_free(struct live_image *image)
{
	vec_free(&image->noted);
	for (unsigned i = 0; i < image->nr_pieces; i++)
		free(image->piece[i].bytes);
	free(image->block);
	image->nr_pieces = 0;
	image->block = NULL;
}

/*
 * Each block that is held is in a chunk that is, with room for it, and alone there. Others are held
 * that the program does not know of, of libraries: not many.
 */
const char *live_image_compare(const struct live_image *image, const struct heap_walk *walk)
{
	struct chunk_at at = heap_chunks_start();
	struct heap_chunk chunk;
	size_t i = 0, others = 0;

	while (heap_chunks_next(&walk->chunks, &at, &chunk)) {
		const struct live_block *block = &image->block[i];

		if (i < image->nr_blocks && block->address < chunk.address)
			return "a block is in no chunk";
		if (i == image->nr_blocks || block->address >= chunk.address + chunk.size) {
			others += chunk_held(&chunk);
			continue;
		}
		if (!chunk_held(&chunk))
			return "a block is held, and its chunk is free";
		if (block->address + block->size > chunk.address + chunk.size)
			return "a block is longer than its chunk";
		if (++i < image->nr_blocks && image->block[i].address < chunk.address + chunk.size)
			return "two blocks are in one chunk";
	}
	if (i < image->nr_blocks)
		return "a block is behind all chunks";
	return others > 8 ? "chunks are held that are no blocks" : NULL;
}

static uint8_t *place_of(const struct live_image *image, uint64_t address)
{
	for (unsigned i = 0; i < image->nr_pieces; i++) {
		const struct live_piece *piece = &image->piece[i];

		if (address >= piece->start && address + 8 <= piece->start + piece->len)
			return piece->bytes + (address - piece->start);
	}
	return NULL;
}

uint64_t live_image_word(const struct live_image *image, uint64_t address)
{
	const uint8_t *at = place_of(image, address);
	uint64_t word = 0;

	if (at)
		memcpy(&word, at, sizeof(word));
	return word;
}

bool live_image_put(struct live_image *image, uint64_t address, uint64_t word)
{
	uint8_t *at = place_of(image, address);

	if (at)
		memcpy(at, &word, sizeof(word));
	return at;
}

static const char *check_sums(const struct heap_walk *walk)
{
	for (size_t i = 0; i < walk->arenas.nr; i++) {
		struct chunk_at at = heap_chunks_start();
		uint64_t bytes[CHUNK_KINDS] = { 0 };
		struct heap_chunk chunk;

		while (heap_chunks_next(&walk->chunks, &at, &chunk))
			if (chunk.heap == i)
				bytes[chunk.kind] += chunk.size;
		if (memcmp(bytes, walk->arenas.at[i].bytes, sizeof(bytes)))
			return "sums of a heap are wrong";
	}
	return walk->damage.nr > HEAP_DAMAGE_MAX ? "too much damage is listed" : NULL;
}

static const char *check_walk(const struct heap_walk *walk)
{
	struct chunk_at at = heap_chunks_start();
	struct heap_chunk chunk;
	uint64_t behind = 0;
	size_t span = 0;

	while (heap_chunks_next(&walk->chunks, &at, &chunk)) {
		if (chunk.address < behind)
			return "chunks overlap";
		behind = chunk.address + chunk.size;
		while (span < walk->spans.nr && walk->spans.at[span].end <= chunk.address)
			span++;
		if (span == walk->spans.nr || chunk.address < walk->spans.at[span].start)
			return "a chunk is outside all spans";
		if (behind > walk->spans.at[span].end)
			return "a chunk is longer than its span";
	}
	for (size_t i = 1; i < walk->spans.nr; i++)
		if (walk->spans.at[i].start < walk->spans.at[i - 1].end)
			return "spans overlap";
	return check_sums(walk);
}

static uint64_t forged(const struct live_image *image, uint64_t word, uint64_t *state)
{
	const struct live_block *block = &image->block[unit_random(state) % image->nr_blocks];
	uint64_t random = unit_random(state);

	switch (random / 64 % 8) {
	case 0:
		return random;
	case 1:
		return 0;
	case 2:
		return block->address;
	case 3:
		return block->address - 16;
	case 4:
		return word + random / 512 % 16 - 8;
	case 5:
		return random / 512 % 4096;
	default:
		return word ^ 1ull << random % 64;
	}
}

static const char *walk_forged(struct live_image *image, live_walk *fn)
{
	struct heap_walk walk;
	struct err *err = fn(&image->source, &walk);
	const char *wrong;

	if (err)
		return err->code == ERR_UNSUPPORTED || err->code == ERR_NOTFOUND ||
		       err->code == ERR_RANGE ? NULL : err->msg;
	wrong = check_walk(&walk);
	heap_walk_free(&walk);
	return wrong;
}

/* One of the words that a walk reads. */
static uint64_t pick_any(const struct live_image *image, uint64_t random)
{
	return image->noted.at[random % image->noted.nr];
}

static void note_all(struct live_image *image, live_walk *walk)
{
	struct heap_walk found;

	image->note = true;
	if (walk(&image->source, &found))
		abort();
	image->note = false;
	heap_walk_free(&found);
}

struct forgery {
	uint64_t address, was;
};

/* NULL, or what does not hold after nr words were forged; they are as before then. */
static const char *forge(struct live_image *image, live_walk *walk, live_pick *pick,
			 struct forgery *done, size_t nr, uint64_t *state)
{
	const char *wrong;

	for (size_t i = 0; i < nr; i++) {
		done[i].address = pick(image, unit_random(state));
		done[i].was = live_image_word(image, done[i].address);
		live_image_put(image, done[i].address, forged(image, done[i].was, state));
	}
	wrong = walk_forged(image, walk);
	while (nr--)
		live_image_put(image, done[nr].address, done[nr].was);
	return wrong;
}

unsigned live_image_forge(struct live_image *image, live_walk *walk, live_pick *pick)
{
	const char *text = getenv("HEAP_ROUNDS"), *wrong;
	unsigned rounds = text ? (unsigned)atol(text) / 100 : ROUNDS, bad = 0;
	uint64_t state = 0x9e3779b97f4a7c15;
	struct forgery *done;
	size_t many;

	note_all(image, walk);
	many = image->noted.nr / 100;
	done = calloc(MAX(many, (size_t)FORGED_FEW), sizeof(*done));
	if (!done)
		abort();
	image->source.most_chunks = 16 * image->nr_blocks;
	for (unsigned i = 0; i < rounds; i++) {
		uint64_t began = state;
		size_t few = 1 + unit_random(&state) % FORGED_FEW;
		bool any = !pick || i % 10 == 0;

		wrong = forge(image, walk, any ? pick_any : pick, done, i % 10 ? few : many, &state);
		if (wrong && bad++ < 10)
			printf("round %u, state 0x%" PRIx64 ": %s\n", i, began, wrong);
	}
	image->source.most_chunks = 0;
	free(done);
	return bad;
}
