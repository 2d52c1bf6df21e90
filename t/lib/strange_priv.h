/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files behind t/lib/strange.h share. */
#ifndef NEAP_T_LIB_STRANGE_PRIV_H
#define NEAP_T_LIB_STRANGE_PRIV_H

#include "t/lib/mutate.h"
#include "t/lib/strange.h"

extern struct mutate strange_rng;
extern strange_get *strange_ask;

/* Of an object, mostly of one that there may be. */
const char *strange_name(void);
/* A body of this kind, {} for a kind without. */
json_t *strange_seed(const char *kind);
void strange_add_text(char *path, size_t size, const char *text);
void strange_add_query(char *path, size_t size);
/* Method, path, type and body as one; body NULL: none. It is changed here and there. */
void strange_fill(struct strange_request *request, const char *method, char *path,
		  const char *type, char *body, size_t len, size_t size);
/* Takes the body. */
void strange_fill_json(struct strange_request *request, const char *method, char *path,
		       const char *type, json_t *body);

void strange_make_control(struct strange_request *request);
/* False, with a line: its bodies are not there. */
bool strange_load_extender(void);
void strange_drop_extender(void);
void strange_make_extender(struct strange_request *request);

#endif
