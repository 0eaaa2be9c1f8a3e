/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The tables: insert, remove, look up. Freestanding; see block_table.h for the protocol.
 */

#include "log/block_table.h"

#include "log/budget.h"
#include "log/primary_slot.h"

/* Where an address may be in one table. */
struct spot {
	struct log_window *first, *second;
	unsigned tag, primary;
};

static inline struct spot spot_in(const struct log *log, uint32_t table, uint64_t hash)
{
	const struct log_table *at = &log->table[table];
	uint64_t turned = hash_turn(hash, at);

	return (struct spot){
		.first = turned_window(at, (uint32_t)(turned >> 32)),
		.second = turned_window(at, (uint32_t)turned),
		.tag = turned_tag(turned),
		.primary = turned_primary(turned) / sizeof(struct log_slot) - 1,
	};
}

uint32_t block_table_count(const struct log *log)
{
	uint32_t nr = __atomic_load_n(&log->header->tables, __ATOMIC_ACQUIRE);

	if (UNLIKELY(nr - 1 >= log->nr_tables))
		nr = nr ? log->nr_tables : 1;
	return nr;
}

bool block_table_read_slot(const struct log *log, const struct log_slot *slot, uint32_t *patience,
			   struct log_record *ret)
{
	/*
	 * A publish takes a few stores. If a slot is in change for longer, its writer has died, or
	 * it is changed all the time.
	 */
	for (unsigned tries = 0; tries < 64; tries++) {
		uint64_t time = __atomic_load_n(&slot->time, __ATOMIC_ACQUIRE);
		uint64_t key = __atomic_load_n(&slot->key, __ATOMIC_ACQUIRE);
		uint64_t size = __atomic_load_n(&slot->size, __ATOMIC_ACQUIRE);
		uint64_t stack = __atomic_load_n(&slot->stack, __ATOMIC_ACQUIRE);

		if ((key & KEY_STATE) == KEY_FREE)
			return false;
		if ((key & KEY_STATE) != KEY_LIVE ||
		    __atomic_load_n(&slot->time, __ATOMIC_ACQUIRE) != time ||
		    __atomic_load_n(&slot->key, __ATOMIC_RELAXED) != key) {
			if (!*patience)
				return false;
			--*patience;
			continue;
		}
		record_decode(key, time, size, stack, ret);
		log_bound_ids(log, &ret->thread, &ret->stack);
		return true;
	}
	return false;
}

static inline bool window_find(struct log_window *window, const uint64_t *tags, uint64_t address,
			       struct place *place)
{
	uint64_t set = tags_match(tags, place->tag);

	for (; set; set &= set - 1) {
		unsigned slot = LANE_OF(LANESET_NEXT(set));

		if (LIKELY(slot_has(window, slot, address, &place->key))) {
			place->window = window;
			place->slot = slot;
			return true;
		}
	}
	return false;
}

static inline bool table_find(const struct spot *spot, uint64_t address, struct place *place)
{
	uint64_t tags[4];

	place->tag = spot->tag;
	tags_load(spot->first, tags);
	if (window_find(spot->first, tags, address, place))
		return true;
	if (LIKELY(!tags_overflowed(tags)))
		return false;
	tags_load(spot->second, tags);
	return window_find(spot->second, tags, address, place);
}

static inline void spot_prefetch(const struct spot *spot)
{
	__builtin_prefetch(spot->first);
	__builtin_prefetch(&spot->first->slot[spot->primary]);
}

static inline uint64_t *hint_of(const struct log *log, uint64_t hash)
{
	return &log->hint[hash >> 16 & (LOG_HINTS - 1)];
}

/* The slot in the address's cache line of this table that has the address, if one does. */
static inline bool find_near(const struct spot *spot, uint64_t address, struct place *place)
{
	place->window = spot->first;
	place->slot = spot->primary;
	place->tag = spot->tag;
	if (slot_has(place->window, place->slot, address, &place->key))
		return true;
	place->slot = slot_buddy(spot->primary);
	return slot_has(place->window, place->slot, address, &place->key);
}

/* The slot in which the address was found last, if it is still there. */
static inline bool find_hinted(const struct log *log, uint64_t hash, uint64_t address,
			       struct place *place)
{
	uint64_t hint = __atomic_load_n(hint_of(log, hash), __ATOMIC_RELAXED);
	uint32_t unit = (uint32_t)hint;

	if ((hint ^ hash) >> 32 || unit % WINDOW_UNITS == 0 || unit >= log->hint_units)
		return false;
	place->window = &log->table[0].window[unit / WINDOW_UNITS];
	place->slot = unit % WINDOW_UNITS - 1;
	if (!slot_has(place->window, place->slot, address, &place->key))
		return false;
	place->tag = __atomic_load_n(tag_of(place->window, place->slot), __ATOMIC_RELAXED) &
		     TAG_HASH;
	return true;
}

static inline void hint_store(struct log *log, uint64_t hash, const struct place *place)
{
	uint64_t window = (uint64_t)(place->window - log->table[0].window);
	uint64_t unit = window * WINDOW_UNITS + place->slot + 1;

	if (unit < log->hint_units)
		__atomic_store_n(hint_of(log, hash), hash >> 32 << 32 | unit, __ATOMIC_RELAXED);
}

/* The slot that the address has, live or as a retired record: from this table on to the oldest. */
static bool find_from(const struct log *log, uint32_t table, struct spot spot, uint64_t hash,
		      uint64_t address, struct place *place)
{
	spot_prefetch(&spot);
	for (;;) {
		struct spot older = spot;

		/* Large tables cause cache misses: begin to load the line of the next one. */
		if (table) {
			older = spot_in(log, table - 1, hash);
			spot_prefetch(&older);
		}
		if (table_find(&spot, address, place))
			return true;
		if (!table--)
			return false;
		spot = older;
	}
}

static bool find_all(const struct log *log, uint64_t address, struct place *place)
{
	uint64_t hash = hash_address(address);
	uint32_t newest = block_table_count(log) - 1;

	return find_from(log, newest, spot_in(log, newest, hash), hash, address, place);
}

/* Find the address for a writer, in the most likely places first. */
static inline bool find(struct log *log, uint64_t hash, uint64_t address, struct place *place)
{
	uint32_t newest = block_table_count(log) - 1;
	struct spot spot = spot_in(log, newest, hash);

	if ((newest < TABLES_SMALL && find_near(&spot, address, place)) ||
	    find_hinted(log, hash, address, place))
		return true;
	if (!find_from(log, newest, spot, hash, address, place))
		return false;
	hint_store(log, hash, place);
	return true;
}

static bool window_claim(struct log_window *window, const uint64_t *tags, unsigned primary,
			 struct place *place)
{
	uint64_t set = tags_free(tags);
	unsigned bit = BIT_OF(primary);

	if (!(set & 1ull << bit))
		bit = BIT_OF(slot_buddy(primary));
	if (!(set & 1ull << bit) && set)
		bit = LANESET_NEXT(set);
	place->window = window;
	while (set) {
		place->slot = LANE_OF(bit);
		if (slot_claim_any(place))
			return true;
		set &= ~(1ull << bit);
		bit = set ? LANESET_NEXT(set) : 0;
	}
	return false;
}

static bool table_claim(const struct spot *spot, struct place *place)
{
	uint64_t tags[4], second[4];

	place->tag = spot->tag;
	tags_load(spot->first, tags);
	if (LIKELY(window_claim(spot->first, tags, spot->primary, place)))
		return true;
	tags_load(spot->second, second);
	if (!tags_free(second))
		return false;
	/* This comes before the claim, so that later searches for the address see it. */
	if (!tags_overflowed(tags))
		tag_store(tag_of(spot->first, LANE_WINDOW), 1);
	return window_claim(spot->second, second, spot->primary, place);
}

/*
 * A slot for an address that has none, from the newest table on; if all its windows are full, in
 * one more table.
 */
static bool claim(struct log *log, uint64_t hash, struct place *place)
{
	for (;;) {
		uint32_t nr = block_table_count(log), expect = nr;
		uint64_t bytes;

		for (uint32_t table = nr; table--; ) {
			struct spot spot = spot_in(log, table, hash);

			if (table_claim(&spot, place)) {
				hint_store(log, hash, place);
				return true;
			}
		}
		if (nr >= log->nr_tables)
			return false;
		bytes = tables_bytes(log, nr + 1) - tables_bytes(log, nr);
		if (bytes > share_left(log, nr) || !log_may_take(log, bytes))
			return false;
		/* If this fails, another writer has added the table. */
		if (__atomic_compare_exchange_n(&log->header->tables, &expect, nr + 1, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			log_take(log, bytes);
	}
}

/*
 * The address's retired record stands in an older table: if the fast path can have a slot in the
 * newest one, take that, and have the retired record forgotten. A writer that dies in between
 * leaves the retired record, or nothing.
 */
static bool claim_nearer(struct log *log, uint64_t hash, const struct place *retired,
			 struct place *ret)
{
	uint32_t newest = __atomic_load_n(&log->newest, __ATOMIC_RELAXED);
	uint64_t old = retired->key;
	struct spot spot;

	if (newest >= TABLES_SMALL || retired->window >= log->table[newest].window)
		return false;
	spot = spot_in(log, newest, hash);
	*ret = (struct place){ .window = spot.first, .slot = spot.primary, .tag = spot.tag };
	if (!slot_claim_any(ret)) {
		ret->slot = slot_buddy(spot.primary);
		if (!slot_claim_any(ret))
			return false;
	}
	/*
	 * If this fails, another writer has claimed the slot, and it is no longer a retired record
	 * of this address.
	 */
	__atomic_compare_exchange_n(&retired->window->slot[retired->slot].key, &old,
				    (old & KEY_SEQUENCE) + KEY_SEQUENCE_ONE, false,
				    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	return true;
}

/* The fast path begins at this table from now on. */
static inline void note_newest(struct log *log)
{
	uint32_t newest = block_table_count(log) - 1;

	if (newest != __atomic_load_n(&log->newest, __ATOMIC_RELAXED))
		__atomic_store_n(&log->newest, newest, __ATOMIC_RELAXED);
}

/* There is a record at the address of a new one: the free of its block was not seen. */
static void replace_old(struct place *place, struct log_record *old)
{
	slot_read_own(place, old);
	place->key = ((place->key & KEY_SEQUENCE) + KEY_SEQUENCE_ONE) | KEY_CLAIMED;
	__atomic_store_n(&place->window->slot[place->slot].key, place->key, __ATOMIC_RELAXED);
}

bool block_table_insert(struct log *log, uint64_t address, struct slot_words words,
			struct log_record *old, bool *replaced)
{
	uint64_t hash = hash_address(address);
	struct place place, nearer;
	struct primary primary;
	bool found;

	*replaced = false;
	primary_of(log, address, &primary);
	if (primary.is_near && primary_insert(&primary, address, words))
		return true;
	note_newest(log);
	found = find(log, hash, address, &place);
	*replaced = found && (place.key & KEY_STATE) == KEY_LIVE;
	if (*replaced)
		replace_old(&place, old);
	else if (found && claim_nearer(log, hash, &place, &nearer))
		place = nearer;
	else if ((!found || !slot_claim(&place)) && !claim(log, hash, &place))
		return false;
	slot_store(&place.window->slot[place.slot], words);
	slot_publish(&place, address);
	return true;
}

bool block_table_remove(struct log *log, uint64_t address, struct log_record *ret, bool *found)
{
	struct place place;
	struct primary primary;

	primary_of(log, address, &primary);
	*found = true;
	if (primary.is_near && primary_remove(&primary, address, ret))
		return true;
	note_newest(log);
	*found = find(log, hash_address(address), address, &place);
	if (!*found || (place.key & KEY_STATE) != KEY_LIVE)
		return false;
	slot_read_own(&place, ret);
	/* The tag comes first: storing the key gives the slot up. */
	tag_store(tag_of(place.window, place.slot), place.tag);
	__atomic_store_n(&place.window->slot[place.slot].key, place.key ^ KEY_LIVE ^ KEY_FREE,
			 __ATOMIC_RELEASE);
	return true;
}

bool block_table_lookup(const struct log *log, uint64_t address, struct log_record *ret)
{
	uint32_t patience = SLOT_PATIENCE;
	struct place place;

	return find_all(log, address, &place) &&
	       block_table_read_slot(log, &place.window->slot[place.slot], &patience, ret) &&
	       ret->address == address;
}

/* A retired record still has all its contents. */
enum tables_last block_table_last(const struct log *log, uint64_t address, struct log_record *ret)
{
	uint64_t key, time, size, stack, again;
	const struct log_slot *slot;
	struct place place;

	if (!find_all(log, address, &place))
		return TABLES_NONE;
	slot = &place.window->slot[place.slot];
	key = __atomic_load_n(&slot->key, __ATOMIC_ACQUIRE);
	time = __atomic_load_n(&slot->time, __ATOMIC_ACQUIRE);
	size = __atomic_load_n(&slot->size, __ATOMIC_ACQUIRE);
	stack = __atomic_load_n(&slot->stack, __ATOMIC_ACQUIRE);
	again = __atomic_load_n(&slot->key, __ATOMIC_RELAXED);
	/*
	 * It does not matter if the record is taken out in between; a claim would increase the
	 * sequence.
	 */
	if ((key ^ address) & (KEY_ADDRESS | KEY_CLAIMED) || (key ^ again) & ~KEY_STATE)
		return TABLES_UNCLEAR;
	record_decode(key, time, size, stack, ret);
	log_bound_ids(log, &ret->thread, &ret->stack);
	return (key & KEY_STATE) == KEY_LIVE ? TABLES_LIVE : TABLES_RETIRED;
}

bool block_table_restore(struct log *log, const struct log_record *record)
{
	uint64_t address = record->address, hash = hash_address(address);
	struct place place;

	/* The retired record still has the contents that it had when it was taken out. */
	if (!find(log, hash, address, &place) || !slot_claim(&place)) {
		if (!claim(log, hash, &place))
			return false;
		slot_store(&place.window->slot[place.slot], (struct slot_words){
			record->time, slot_size(record->size, record->rate),
			slot_stack(record->stack, record->thread, record->heap) });
	}
	slot_publish(&place, address);
	return true;
}
