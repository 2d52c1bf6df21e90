/* SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of a valid body in the hands of one who means harm: members that go,
 * change their type, are there many times, are deep, long or wide. The same numbers give
 * the same bodies. */
#ifndef NEAP_T_LIB_MUTATE_H
#define NEAP_T_LIB_MUTATE_H

#include <jansson.h>
#include <stdint.h>

struct mutate {
	uint64_t state;
	const json_t
		*others; /* object of lists of bodies: what is grafted comes from there */
};

/* 0 to below - 1. */
uint32_t mutate_draw(struct mutate *mutate, uint32_t below);
/* One of count texts. */
const char *mutate_pick(struct mutate *mutate, const char *const *texts, size_t count);
/* Changes the object, at most `most` times, perhaps not at all. */
void mutate_object(struct mutate *mutate, json_t *object, int most);
/* Turns, drops and doubles bytes; text has room for size + 1 bytes, and the new length is
 * returned. */
size_t mutate_bytes(struct mutate *mutate, char *text, size_t len, size_t size);
/* Operations of a JSON patch on an object like this; a new list. */
json_t *mutate_json_patch(struct mutate *mutate, const json_t *object);

#endif
