/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files behind lua/reserve/reserve.h share. */
#ifndef NEAP_LUA_RESERVE_RESERVE_PRIV_H
#define NEAP_LUA_RESERVE_RESERVE_PRIV_H

#include "lua/place/place_priv.h"
#include "lua/reserve/reserve.h"

/* Reservations whose facts are kept, what they may take together, and one by itself (its owners, too), all of it
 * generously counted. The script pays with its time when Lua goes through them for garbage: about a millisecond for one
 * MiB. */
#define NEAP_FACTS_MAX       4096
#define NEAP_FACTS_BYTES     ((size_t)1024 * 1024)
#define NEAP_FACTS_BYTES_ONE ((size_t)128 * 1024)

struct neap_reserve_own {
	bool replaces, has_rank;
	struct neap_reserve_pair pairs[NEAP_RESERVE_PAIRS_MAX];
	size_t pair_count;
	char keys[NEAP_RESERVE_PAIRS_MAX][2][NEAP_COLUMN_KEY]; /* that they point to */
	/* Of the decision. */
	struct neap_place_pod pod;
	bool is_open;                       /* the tables are made */
	uint32_t resources[NEAP_NEEDS_MAX]; /* of the keys of amounts, by need */
	char reason[NEAP_PLACE_REASON];
	/* Whose facts are kept: references, so that no address comes to stand for another one. */
	struct neap_reserve *held[NEAP_FACTS_MAX];
	size_t held_count, held_bytes;
	size_t found,
		passing; /* offers of this decision: facts were kept, found no room */
	/* reserve_owners.c: whose owners the tables show, a reference; what is in the tables, by entry. */
	struct neap_reserve *shown;
	struct neap_owner_slot *slots;
	size_t slot_size, slot_count, slots_shown;
	bool is_torn; /* what is in them is not known: they are made anew */
};

/* reserve_facts.c; a decision begins. */
int neap_reserve_tidy(struct neap_policy *policy, struct neap_error *err);
/* So that neap_reserve_push_facts works. SKIPPED: they would be too large. */
enum neap_tick_verdict neap_reserve_know(struct neap_policy *policy,
					 const struct neap_reserve *reserve,
					 struct neap_error *err);
/* Pushes the list; raises nothing. */
void neap_reserve_push_facts(lua_State *L, const struct neap_policy *policy,
			     const struct neap_reserve *reserve);

/* reserve_owners.c; they are not too large to be shown. */
bool neap_reserve_owners_are_small(const struct neap_reserve *reserve);
/* Pushes the list of owners, which shows those of one reservation at a time; raises. */
void neap_reserve_push_owners(lua_State *L, struct neap_policy *policy,
			      const struct neap_reserve *reserve);
/* They show nobody's any more: no selector is borrowed. The state is there. */
void neap_reserve_hide_owners(struct neap_reserve_own *own);

/* reserve_offer.c: makes the tables of a decision; raises. */
void neap_reserve_open(lua_State *L, struct neap_policy *policy);
/* Sets the table of the reservation, which is kept as NEAP_REF_RESV. False: it misses something, and err says what.
 * Raises. */
bool neap_reserve_set(lua_State *L, struct neap_policy *policy,
		      const struct neap_reserve_offer *offer, struct neap_error *err);

#endif
