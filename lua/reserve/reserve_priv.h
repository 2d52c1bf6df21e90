/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files behind lua/reserve/reserve.h. */
#ifndef NEAP_LUA_RESERVE_RESERVE_PRIV_H
#define NEAP_LUA_RESERVE_RESERVE_PRIV_H

#include "lua/place/place_priv.h"
#include "lua/reserve/reserve.h"

/* Limits of cached facts: number of reservations, bytes in total, bytes of one (owners
 * included), generously counted. The script pays for them when Lua's garbage collector
 * runs: about a millisecond per MiB. */
#define NEAP_FACTS_MAX       4096
#define NEAP_FACTS_BYTES     ((size_t)1024 * 1024)
#define NEAP_FACTS_BYTES_ONE ((size_t)128 * 1024)

struct neap_reserve_own {
	bool replaces, has_rank;
	struct neap_reserve_pair pairs[NEAP_RESERVE_PAIRS_MAX];
	size_t pair_count;
	/* that the needs refer to */
	char keys[NEAP_RESERVE_PAIRS_MAX][2][NEAP_COLUMN_KEY];
	/* Of the decision. */
	struct neap_place_pod pod;
	bool is_open;                       /* the tables exist */
	uint32_t resources[NEAP_NEEDS_MAX]; /* resource numbers of amount keys, by need */
	char reason[NEAP_PLACE_REASON];
	/* Reservations with cached facts: references, so that an address is never reused
	 * for another one. */
	struct neap_reserve *held[NEAP_FACTS_MAX];
	size_t held_count, held_bytes;
	size_t found,
		/* offers of this decision whose facts were cached, and that found no
		 * room */
		passing;
	/* reserve_owners.c: the reservation whose owners the tables show (a reference),
	 * and the content by entry. */
	struct neap_reserve *shown;
	struct neap_owner_slot *slots;
	size_t slot_size, slot_count, slots_shown;
	bool is_torn; /* their content is unknown: rebuild them */
};

/* reserve_facts.c: called when a decision starts. */
int neap_reserve_tidy(struct neap_policy *policy, struct neap_error *err);
/* Prepares neap_reserve_push_facts. SKIPPED: the facts would be too large. */
enum neap_tick_verdict neap_reserve_know(struct neap_policy *policy,
					 const struct neap_reserve *reserve,
					 struct neap_error *err);
/* Pushes the list; does not raise. */
void neap_reserve_push_facts(lua_State *L, const struct neap_policy *policy,
			     const struct neap_reserve *reserve);

/* reserve_owners.c: returns whether they are small enough to be shown. */
bool neap_reserve_owners_are_small(const struct neap_reserve *reserve);
/* Pushes the list of owners, which shows those of one reservation at a time; raises. */
void neap_reserve_push_owners(lua_State *L, struct neap_policy *policy,
			      const struct neap_reserve *reserve);

/* reserve_offer.c: when it expires; false: never by itself. */
bool neap_reserve_read_expiry(const struct neap_reserve *reserve, int64_t *ret_usec);
/* Creates the tables of a decision; raises. */
void neap_reserve_open(lua_State *L, struct neap_policy *policy);
/* Fills the reservation's table, stored as NEAP_REF_RESV. False: it lacks a required
 * field, and err says which. Raises. */
bool neap_reserve_set(lua_State *L, struct neap_policy *policy,
		      const struct neap_reserve_offer *offer, struct neap_error *err);

/* --- reserve_row.c: a pod and reservations of a row (lua/place/place_priv.h) --- */

struct neap_reserve_row {
	const struct neap_place_row *row;
	struct neap_place_pod pod;
	struct neap_resources *resources;
	struct neap_pod *made_pod;
	struct neap_reserve *reserve;
	struct neap_object *node;
	struct neap_arena arena;
	struct neap_amounts allocated;
	struct neap_reserve_offer offer; /* borrows the above */
};

/* Makes the row's pod, then its reservation, or several of them one after the other. Call
 * neap_reserve_row_done whatever they return. */
int neap_reserve_row_pod(struct neap_reserve_row *made);
int neap_reserve_row_offer(struct neap_reserve_row *made, const json_t *told);
void neap_reserve_row_done(struct neap_reserve_row *made);

#endif
