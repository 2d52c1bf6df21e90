/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests that are to cost much, with the CPU time that they take; and every list and
 * map that the schemas of the served kinds have, as wide as can be. */
#ifndef NEAP_T_LIB_WIDE_RIG_H
#define NEAP_T_LIB_WIDE_RIG_H

#include "t/lib/kube_rig.h"

#define WIDE_BODY_BYTES (1400 * 1024) /* an object may have 1.5 MiB */

/* The slowest request so far, and all of them. */
extern struct wide_slowest {
	double ms;
	char what[512];
	double sum;
	int count;
} wide_slowest;

/* One request, which ends in time and not with 500 or above; client and all. The goal is
 * 100 ms on an ordinary machine; ten times that pass, as a machine may be slow.
 * WIDE_SHOW=1 tells those over 60 ms. Returns the status. */
int wide_ask(struct kube_rig *rig, const char *how, const char *what, const char *body,
	     size_t len);
/* Without a body, with lines of headers. */
int wide_ask_as(struct kube_rig *rig, const char *how, const char *what,
		const char *headers);
int wide_ask_json(struct kube_rig *rig, const char *how, const char *what,
		  const json_t *body);
/* Asks "GET path" until the status is as wanted, up to ten seconds. */
void wide_until(struct kube_rig *rig, const char *ask, int status);
/* Prints the slowest. */
void wide_tell(const char *what);

/* What a schema takes, the n-th; objects have what is required in them. */
json_t *wide_sample(const struct neap_schema *schema, size_t n, int depth);

#define WIDE_DEPTH 24

struct wide_step {
	const char *name; /* NULL: the first item of a list */
	const struct neap_schema *schema;
};

struct wide_place {
	const struct neap_kube_kind *kind;
	struct wide_step steps[WIDE_DEPTH];
	int depth;
};

/* Every list and map of every kind that is stored, those that kinds share once, and of
 * a declared kind those that are alike (one type in several places) once. The caller
 * frees *ret. Returns how many. */
size_t wide_places_find(struct kube_rig *rig, struct wide_place **ret);
/* The same of every text, quantity, and number that may be a text. */
size_t wide_texts_find(struct kube_rig *rig, struct wide_place **ret);
/* "Pod.spec.containers.0.env", in a static buffer. */
const char *wide_show(const struct wide_place *place);
/* A list or a map as wide as it may be by values and bytes of an object, and no wider
 * than most. */
json_t *wide_value(const struct neap_schema *schema, size_t most);

#endif
