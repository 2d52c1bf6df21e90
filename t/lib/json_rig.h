/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON in tests, written with ' for " so that it can be read. */
#ifndef NEAP_T_LIB_JSON_RIG_H
#define NEAP_T_LIB_JSON_RIG_H

#include <jansson.h>

/* The text as JSON of any type; a new reference. Ends the test when it is none. */
json_t *json_rig_make(const char *text);
/* Ends the test, with its name, unless got is what the text says. */
void json_rig_check(const char *name, const json_t *got, const char *want);

#endif
