/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests that were valid before they were changed: of all kinds, parts and verbs that
 * discovery tells of, of the control API, of the extender, and of what is served beside
 * them. The same number gives the same request of the same server. */
#ifndef NEAP_T_LIB_STRANGE_H
#define NEAP_T_LIB_STRANGE_H

#include <jansson.h>
#include <stdbool.h>

#include "engine/base/buf.h"

struct strange_request {
	char what[256]; /* "GET /api/v1/pods" */
	struct neap_buf bytes;
	bool is_raw;      /* bytes of its head were changed: there may be no answer */
	bool is_extender; /* for the address of the extender */
};

/* The body of a good answer to GET; NULL for none. A new reference. */
typedef json_t *strange_get(const char *path);

/* Reads the bodies and asks for what is served. False, with a line for each, when a kind
 * has no body. */
bool strange_init(strange_get *get);
void strange_done(void);
size_t strange_verbs(void);
/* The paths of all collections that can be listed, from 0 on; false behind the last. */
bool strange_list(size_t index, char *path, size_t size);
/* head: lines of its head that say who asks; not in what is for the extender. */
void strange_make(unsigned seed, size_t number, const char *head,
		  struct strange_request *ret);

#endif
