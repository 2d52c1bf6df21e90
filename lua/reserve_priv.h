/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files behind lua/reserve.h share. */
#ifndef NEAP_LUA_RESERVE_PRIV_H
#define NEAP_LUA_RESERVE_PRIV_H

#include "lua/place_priv.h"
#include "lua/reserve.h"

/* Reservations whose facts are kept, what they may take together, and one by itself, all of it generously counted. The
 * script pays with its time when Lua goes through them for garbage: about a millisecond for one MiB. */
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

/* reserve_offer.c: makes the tables of a decision; raises. */
void neap_reserve_open(lua_State *L, struct neap_policy *policy);
/* Sets the table of the reservation, which is kept as NEAP_REF_RESV. False: it misses something, and err says what.
 * Raises. */
bool neap_reserve_set(lua_State *L, const struct neap_policy *policy,
		      const struct neap_reserve_offer *offer, struct neap_error *err);

#endif
