/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The protocol of src/log/directory.h as a model for spin: an address that two writers own in turn,
 * its record in the directory, its presence and absence bits, and its record in the tables, which
 * log.pml shows to be whole, so that it is one step here. Somebody makes the page dense at any time;
 * another block with the same presence bit goes to the tables at any time; a reader in another
 * process reads the record; and, with KILL, somebody kills the second writer at any step: its block
 * is then freed unseen. Every load and store of shared memory is a step of its own.
 *
 * With HALVES a block may have only the lower half of its granule, and its record is apart then;
 * the upper half has another owner in the meantime, who uses the granule's record. The page is dense
 * from the start, and nobody else is there.
 *
 * Checked in all interleavings:
 *
 *	an owner finds what it has put in, and takes out exactly that
 *	after an insert the address has one live record, whatever earlier owners left
 *	what a reader believes is one record that was put in, whole
 *
 * BROKEN_... leave out one step of the protocol each; log_model.sh checks that spin then finds the
 * fault.
 */

#ifndef ROUNDS
#define ROUNDS 2
#endif

#define CHANGING 0
#define RETIRED 1
#define LIVE 2

/* What `what` must be beside this `who`. */
#define CONTENTS(stamp) ((stamp) + 100)

bit dense, mixed, present, absent, halves;
byte who_state, who_stamp;	/* one word */
bit who_upper;			/* and in it: the record is of the upper half's block */
byte what;
byte half_state, half_stamp;	/* the record of the lower half: one word */
byte half_what;
bit whole, upper;		/* does the address's block have all of the granule? the upper half one? */
bit table_live;			/* with its stamp, one step */
byte table_stamp;
byte clock;
bit killed;
byte owner;			/* 0: the block is free */

inline tick()
{
	d_step {
		clock++;
		mine = clock
	}
}

/*
 * A record that is there already, and overlaps the block: its free was not seen. Somebody may change
 * that of the granule meanwhile, whose block does not overlap.
 */
inline retire_granule(all)
{
	d_step { state = who_state; stamp = who_stamp; is_upper = who_upper };
	if
	:: state == LIVE && (all || !is_upper) ->
#ifdef BROKEN_SWAP
		who_state = RETIRED
#else
		d_step {
			if
			:: who_state == state && who_stamp == stamp && who_upper == is_upper ->
				who_state = RETIRED
			:: else
			fi
		}
#endif
	:: else
	fi
}

inline retire_half()
{
#ifdef BROKEN_HALVES
	skip
#else
	if
	:: halves ->
		state = half_state;
		if
		:: state == LIVE -> half_state = RETIRED
		:: else
		fi
	:: else
	fi
#endif
}

inline retire(all)
{
	retire_granule(all);
	retire_half()
}

/* Only of a dense page is the absence bit looked at, or changed. */
inline look_present()
{
	is_present = 1;
	if
	:: dense -> is_present = !absent
	:: else
	fi;
	if
	:: is_present -> is_present = present
	:: else
	fi
}

inline set_present()
{
	mixed = 1;
	present = 1;
#ifndef BROKEN_ABSENCE
	if
	:: dense -> absent = 0
	:: else
	fi
#endif
}

inline retire_in_table()
{
#ifdef BROKEN_PRESENCE
	skip
#else
	is_present = mixed;
	if
	:: is_present -> look_present()
	:: else
	fi;
	if
	:: is_present ->
		table_live = 0;
		absent = 1
	:: else
	fi
#endif
}

inline store(of_upper)
{
#ifdef BROKEN_ORDER
	d_step { who_state = LIVE; who_stamp = mine; who_upper = of_upper };
	what = CONTENTS(mine)
#else
	d_step { who_state = CHANGING; who_stamp = 0; who_upper = 0 };
	what = CONTENTS(mine);
	d_step { who_state = LIVE; who_stamp = mine; who_upper = of_upper }
#endif
}

inline put_in_directory()
{
	retire(1);
	retire_in_table();
	store(0)
}

inline put_in_half()
{
	halves = 1;
	retire(0);
	retire_in_table();
	d_step { half_state = CHANGING; half_stamp = 0 };
	half_what = CONTENTS(mine);
	d_step { half_state = LIVE; half_stamp = mine }
}

inline put_in_table()
{
#ifndef BROKEN_RETIRE
	if
	:: is_dense -> retire(0)
	:: else
	fi;
#endif
#ifdef BROKEN_SET
	d_step { table_live = 1; table_stamp = mine };
	set_present()
#else
	set_present();
	d_step { table_live = 1; table_stamp = mine }
#endif
}

/* Some records fit in the directory. */
inline insert()
{
	is_dense = dense;
	if
	:: is_dense && whole -> put_in_directory()
	:: is_dense && !whole -> put_in_half()
	:: put_in_table()
	fi;
	assert((who_state == LIVE && !who_upper) + (half_state == LIVE) + table_live == 1)
}

inline take_from_table()
{
	look_present();
	assert(is_present);
	d_step {
		assert(table_live && table_stamp == mine);
		table_live = 0
	}
}

inline remove()
{
	is_dense = dense;
	d_step { state = CHANGING; in_half = 0 };
	if
	:: is_dense -> d_step { state = who_state; is_upper = who_upper }
	:: else
	fi;
	if
	:: state == LIVE && !is_upper ->
		assert(who_stamp == mine && what == CONTENTS(mine));
		who_state = RETIRED
	:: else ->
		state = CHANGING;
		in_half = halves;
		if
		:: in_half -> state = half_state
		:: else
		fi;
		if
		:: state == LIVE ->
			assert(half_stamp == mine && half_what == CONTENTS(mine));
			half_state = RETIRED
		:: else -> take_from_table()
		fi
	fi
}

/* A realloc that fails: the record comes back as it was. */
inline restore()
{
	d_step {
		if
		:: state == LIVE && in_half -> half_state = LIVE
		:: state == LIVE && !in_half -> who_state = LIVE
		:: else -> table_live = 1
		fi
	}
}

proctype writer(byte me) provided (_pid != 2 || !killed)
{
	byte round, mine, state, stamp;
	bit is_dense, is_present, is_upper, in_half;

	do
	:: round < ROUNDS ->
		round++;
		atomic {
			owner == 0 -> owner = me;
			if
			:: !upper -> whole = 1
#ifdef HALVES
			:: whole = 0
#endif
			fi
		};
		tick();
		insert();
		if
		:: remove()
		:: remove(); restore(); remove()
		:: skip			/* its free is not seen */
		fi;
		d_step {
			owner = 0; mine = 0; state = 0; stamp = 0; is_dense = 0; is_present = 0;
			is_upper = 0; in_half = 0
		}
	:: else -> break
	od
}

proctype reader()
{
	byte state, stamp, contents;
	bit is_upper;

	d_step { state = who_state; stamp = who_stamp; is_upper = who_upper };
	contents = what;
	if
	:: state == LIVE && who_state == state && who_stamp == stamp && who_upper == is_upper ->
		assert(contents == CONTENTS(stamp))	/* these were one look */
	:: else
	fi
}

#ifdef HALVES
/* The owner of a block in the upper half: only where the lower one has none, or one that ends there. */
proctype neighbour_in_granule()
{
	byte round, mine, state, stamp;
	bit is_upper;

	do
	:: round < ROUNDS ->
		round++;
		atomic { !upper && (owner == 0 || !whole) -> upper = 1 };
		tick();
		retire_granule(1);
		store(1);
		assert(who_state == LIVE && who_upper && who_stamp == mine);
		if
		:: d_step { assert(who_state == LIVE && who_upper && who_stamp == mine); who_state = RETIRED }
		:: skip			/* its free is not seen */
		fi;
		d_step { upper = 0; mine = 0; state = 0; stamp = 0; is_upper = 0 }
	:: else -> break
	od
}
#endif

proctype becomes_dense()
{
	dense = 1
}

#ifndef KILL
/* The owner of a block beside this one: it has no part in the absence bit. */
proctype neighbour()
{
	mixed = 1;
	present = 1
}
#else
/* It may hold the block; then nobody else does. */
proctype killer()
{
	d_step {
		killed = 1;
		if
		:: owner == 2 -> owner = 0
		:: else
		fi
	}
}
#endif

init {
	atomic {
		run writer(1);
		run writer(2);
		run reader();
#ifdef HALVES
		dense = 1;
		run neighbour_in_granule();
#else
		run becomes_dense();
#endif
#if !defined(KILL) && !defined(HALVES)
		run neighbour();
#endif
#ifdef KILL
		run killer();
#endif
	}
}
