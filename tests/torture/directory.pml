/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The protocol of src/log/directory.h as a model for spin: an address that two writers own in turn,
 * its record in the directory, its presence and absence bits, and its record in the tables, which
 * log.pml shows to be whole, so that it is one step here. Somebody makes the page dense at any time;
 * another block with the same presence bit goes to the tables at any time; a reader in another
 * process reads the record; and, with KILL, somebody kills the second writer at any step: its block
 * is then freed unseen. Every load and store of shared memory is a step of its own. Checked in all
 * interleavings:
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

bit dense, mixed, present, absent;
byte who_state, who_stamp;	/* one word */
byte what;
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

/* A record that is there already: its free was not seen. */
inline retire()
{
	state = who_state;
	if
	:: state == LIVE -> who_state = RETIRED
	:: else
	fi
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

inline put_in_directory()
{
	retire();
#ifndef BROKEN_PRESENCE
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
	fi;
#endif
#ifdef BROKEN_ORDER
	d_step { who_state = LIVE; who_stamp = mine };
	what = CONTENTS(mine)
#else
	d_step { who_state = CHANGING; who_stamp = 0 };
	what = CONTENTS(mine);
	d_step { who_state = LIVE; who_stamp = mine }
#endif
}

inline put_in_table()
{
#ifndef BROKEN_RETIRE
	if
	:: is_dense -> retire()
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
	:: is_dense -> put_in_directory()
	:: put_in_table()
	fi;
	assert((who_state == LIVE) + table_live == 1)
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
	state = CHANGING;
	if
	:: is_dense -> state = who_state
	:: else
	fi;
	if
	:: state == LIVE ->
		assert(who_stamp == mine && what == CONTENTS(mine));
		who_state = RETIRED
	:: else -> take_from_table()
	fi
}

/* A realloc that fails: the record comes back as it was. */
inline restore()
{
	d_step {
		if
		:: state == LIVE -> who_state = LIVE
		:: else -> table_live = 1
		fi
	}
}

proctype writer(byte me) provided (_pid != 2 || !killed)
{
	byte round, mine, state;
	bit is_dense, is_present;

	do
	:: round < ROUNDS ->
		round++;
		atomic { owner == 0 -> owner = me };
		tick();
		insert();
		if
		:: remove()
		:: remove(); restore(); remove()
		:: skip			/* its free is not seen */
		fi;
		d_step { owner = 0; mine = 0; state = 0; is_dense = 0; is_present = 0 }
	:: else -> break
	od
}

proctype reader()
{
	byte state, stamp, contents;

	d_step { state = who_state; stamp = who_stamp };
	contents = what;
	if
	:: state == LIVE && who_state == state && who_stamp == stamp ->	/* one look */
		assert(contents == CONTENTS(stamp))
	:: else
	fi
}

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
		run becomes_dense();
#ifndef KILL
		run neighbour();
#else
		run killer();
#endif
	}
}
