/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The slot protocol of src/log/block_table.h as a model for spin: two writers, each the owner of one
 * address, in one window of SLOTS slots; a reader in another process (WORD: the words of one slot,
 * SCAN: all slots); and, with KILL, somebody who kills the second writer at any step. Every load
 * and store of shared memory is a step of its own. Checked in all interleavings:
 *
 *	an address is in the key of at most one slot (live or ghost)
 *	an owner always finds what it has put in, and takes out exactly that
 *	a claim is never lost or shared
 *	what a reader believes is one record that was put in, whole
 *	a block that lives through a whole scan is seen exactly once
 *
 * BROKEN_... leave out one step of the protocol each; log_model.sh checks that spin then finds the
 * fault.
 */

#define SLOTS 2
#ifndef ROUNDS
#define ROUNDS 2
#endif
#define NONE 9
#define SEQUENCES 8

#define FREE 0
#define CLAIMED 1
#define LIVE 2

/* What the contents of a record must be. */
#define CONTENTS(address, stamp) ((stamp) * 4 + (address))

typedef slot {
	byte state, address, sequence;	/* one word: the key */
	byte stamp;
	byte contents;
	byte tag;			/* address whose hash it is */
	bit tag_live
};

slot s[SLOTS];
byte clock;
bit killed;

/* What really is, changed in the same step as the key. */
bit live[3];
byte epoch[3];

#define ONE_SLOT(a) (!(s[0].address == a && s[1].address == a))

/*
 * The slot with address me, live or ghost: f, with its key in ks, kq. First the tag, then the key.
 */
inline find_at(n)
{
	if
	:: f == NONE && s[n].tag == me ->
		d_step {
			ks = s[n].state;
			kq = s[n].sequence;
			if
			:: s[n].address == me && ks != CLAIMED -> f = n
			:: else
			fi
		}
	:: else
	fi
}

/* Both are at home in slot 0: the key alone is looked at, whatever the tag says (fast_path.h). */
inline find_home()
{
	d_step {
		ks = s[0].state;
		kq = s[0].sequence;
		if
		:: s[0].address == me && ks != CLAIMED -> f = 0
		:: else
		fi
	}
}

/* The slow path may be taken at any time. */
inline find()
{
	f = NONE;
	if
	:: find_home()
	:: skip
	fi;
	find_at(0);
	find_at(1)
}

/* Compare and swap of slot f, whose key was ks, ka, kq. */
inline claim_slot()
{
	d_step {
		ok = 0;
		if
		:: ks == FREE && s[f].state == ks && s[f].address == ka && s[f].sequence == kq ->
			s[f].state = CLAIMED;
			s[f].address = 0;
			s[f].sequence = (kq + 1) % SEQUENCES;
			kq = s[f].sequence;
			ok = 1
		:: else
		fi
	}
}

/* Any slot that its tag says is free. */
inline claim_at(n)
{
	if
	:: !ok && !s[n].tag_live ->
		d_step {
			f = n;
			ks = s[n].state;
			ka = s[n].address;
			kq = s[n].sequence
		};
		claim_slot()
	:: else
	fi
}

inline claim_any()
{
	ok = 0;
	claim_at(0);
	claim_at(1)
}

/* Hash and live bit are one store. */
inline store_tag(is_live)
{
	d_step {
		s[f].tag = me;
		s[f].tag_live = is_live
	}
}

inline publish()
{
	store_tag(1);
	d_step {
		assert(s[f].state == CLAIMED && s[f].sequence == kq);
		s[f].state = LIVE;
		s[f].address = me;
		live[me] = 1;
		epoch[me]++;
		assert(ONE_SLOT(me))
	}
}

inline fill(t)
{
#ifdef BROKEN_FILL
	publish();
	s[f].stamp = t;
	s[f].contents = CONTENTS(me, t)
#else
	s[f].stamp = t;
	s[f].contents = CONTENTS(me, t);
	publish()
#endif
}

/* Claim the other slot instead, by its key alone, and then have the ghost in slot f forgotten. */
inline claim_nearer()
{
	d_step {
		g = f;
		gq = kq;
		f = 1 - g;
		ks = s[f].state;
		ka = s[f].address;
		kq = s[f].sequence
	};
	claim_slot();
	if
#ifdef BROKEN_FORGET
	:: ok
#else
	:: ok ->
		d_step {
			if
			:: s[g].state == FREE && s[g].address == me && s[g].sequence == gq ->
				s[g].address = 0;
				s[g].sequence = (gq + 1) % SEQUENCES
			:: else
			fi
		}
#endif
	:: else ->
		d_step {
			f = g;
			ks = FREE;
			ka = me;
			kq = gq
		};
		claim_slot()
	fi
}

/* Claim the ghost of me if there is one, or a nearer slot, else any; ok says whether that worked. */
inline claim()
{
	find();
	ok = 0;
#ifdef BROKEN_GHOST
	f = NONE;
#endif
	if
	:: f != NONE -> ka = me; assert(ks == FREE); claim_slot()
	:: f != NONE -> assert(ks == FREE); claim_nearer()
	:: else
	fi;
	if
	:: !ok -> claim_any()
	:: else
	fi
}

inline remove()
{
	find();
	assert(f != NONE && ks == LIVE);
	assert(s[f].stamp == mine);
	assert(s[f].contents == CONTENTS(me, mine));
#ifndef BROKEN_TAG
	store_tag(0);
#endif
	d_step {
		assert(s[f].state == LIVE && s[f].address == me);
		s[f].state = FREE;
		live[me] = 0;
		epoch[me]++
	}
#ifdef BROKEN_TAG
	;
	store_tag(0)
#endif
}

/* The address comes again without its free having been seen. */
inline replace()
{
	find();
	assert(f != NONE && ks == LIVE);
#ifndef BROKEN_REPLACE
	d_step {
		s[f].state = CLAIMED;
		s[f].address = 0;
		s[f].sequence = (kq + 1) % SEQUENCES;
		kq = s[f].sequence;
		live[me] = 0;
		epoch[me]++
	};
	fill(mine)
#else
	s[f].stamp = mine;
	s[f].contents = CONTENTS(me, mine)
#endif
}

inline restore()
{
	find();
	ok = 0;
	if
	:: f != NONE -> ka = me; assert(ks == FREE); claim_slot()
	:: else
	fi;
	if
	:: ok -> publish()
	:: else ->
		claim_any();
		if
		:: ok -> fill(mine)
		:: else
		fi
	fi
}

/* What the writer will not look at again is not part of its state. */
inline forget()
{
	d_step {
		f = 0;
		ks = 0;
		ka = 0;
		kq = 0;
		g = 0;
		gq = 0
	}
}

inline tick()
{
	d_step {
		clock++;
		mine = clock
	}
}

proctype writer(byte me) provided (_pid != 2 || !killed)
{
	byte f, ks, ka, kq, g, gq, mine, round;
	bit ok;

	do
	:: round < ROUNDS ->
		round++;
		tick();
		claim();
		if
		:: !ok	/* full: the other has one, and one may be lost or in change */
		:: ok ->
			fill(mine);
			if
			:: forget()
			:: forget(); tick(); replace(); forget()
			:: forget(); remove(); forget(); restore()
			fi;
			if
			:: ok -> remove()
			:: else
			fi
		fi;
		forget()
	:: else -> break
	od
}

inline check_read()
{
	d_step {
#ifdef BROKEN_SEQUENCE
		believed = (s[i].state == ks && s[i].address == ka);
#else
		believed = (s[i].state == ks && s[i].address == ka && s[i].sequence == kq);
#endif
		assert(!believed || c == CONTENTS(ka, t))
	}
}

/*
 * Reads one slot, word by word. What it sees in change it gives up: it would look again, and be
 * here again.
 */
proctype word_reader()
{
	byte i, t, ks, ka, kq, c;
	bit believed;

	if
	:: i = 0
	:: i = 1
	fi;
	t = s[i].stamp;
	d_step {
		ks = s[i].state;
		ka = s[i].address;
		kq = s[i].sequence
	};
	if
	:: ks == LIVE ->
		c = s[i].contents;
		if
#ifdef BROKEN_READER
		:: skip
#else
		:: s[i].stamp == t
#endif
			-> check_read()
		:: s[i].stamp != t
		fi
	:: else
	fi
}

/* Goes over all slots; that each one is read as if at once is what word_reader shows. */
proctype scan_reader()
{
	byte i;
	byte was[3], seen[3];
	bit there[3];

	d_step {
		was[1] = epoch[1];
		was[2] = epoch[2];
		there[1] = live[1];
		there[2] = live[2]
	};
	do
	:: i < SLOTS ->
		d_step {
			if
			:: s[i].state == LIVE -> seen[s[i].address]++
			:: else
			fi;
			i++
		}
	:: else -> break
	od;
	atomic {
		assert(!(there[1] && was[1] == epoch[1]) || seen[1] == 1);
		assert(!(there[2] && was[2] == epoch[2]) || seen[2] == 1)
	}
}

#ifdef KILL
proctype killer()
{
	killed = 1
}
#endif

init {
	atomic {
		run writer(1);
		run writer(2);
#ifdef WORD
		run word_reader();
#endif
#ifdef SCAN
		run scan_reader();
#endif
#ifdef KILL
		run killer();
#endif
	}
}
