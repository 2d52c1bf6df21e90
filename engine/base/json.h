/* SPDX-License-Identifier: Apache-2.0
 *
 * Members of reports. One that is not known is left out, never zero or null; so is one for which memory
 * is short, and a text that is no UTF-8 (texts come from the kernel and from policies). */
#ifndef NEAP_ENGINE_BASE_JSON_H
#define NEAP_ENGINE_BASE_JSON_H

#include <jansson.h>

#include "engine/base/error.h"

/* As json_dumps(3), but whole or not at all: that one leaves out pieces of a text for which memory is
 * short, and calls it done. NULL without memory, or over NEAP_BUF_REPLY; free with free(3). */
char *neap_json_dump(const json_t *json, size_t flags);

/* As json_deep_copy(3) and json_copy(3), but whole or not at all: those leave out
 * members for which memory is short. NULL without memory, and of NULL. */
json_t *neap_json_deep_copy(const json_t *json);
json_t *neap_json_copy(const json_t *json);

/* As json_loadb(3), which ends the process when memory is short inside a token, and else does not tell
 * that from bad input. 0; -NEAP_EINVAL with *ret_where filled; -NEAP_ENOMEM. */
int neap_json_parse(const char *text, size_t len, size_t flags, json_t **ret,
		    json_error_t *ret_where);

/* The same for the text of an annotation: an object or a list. null says nothing, which the reference takes as an object
 * without members; so does this. */
int neap_json_parse_note(const char *text, json_t **ret, json_error_t *ret_where);

/* Gives jansson the allocator that neap_json_parse and neap_json_failures need. For the start of a
 * program, before it makes JSON on a second thread. */
void neap_json_setup(void);
/* So many of its allocations failed on this thread. More than before: what was made meanwhile may lack
 * members. */
uint64_t neap_json_failures(void);

/* Left out when NULL or "". */
void neap_json_set_text(json_t *object, const char *name, const char *text);
/* Left out when NEAP_MISSING. */
void neap_json_set_int(json_t *object, const char *name, int64_t value);
/* Left out when it is not finite. */
void neap_json_set_real(json_t *object, const char *name, double value);

/* Values that the text of a JSON document has, itself and all within it, without parsing it; what is no JSON has some
 * number. Making them costs far more than reading the text, and bytes bound little: a megabyte can be 500,000 lists. */
size_t neap_json_values_of_text(const char *text, size_t len);

#endif
