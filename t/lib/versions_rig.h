/* SPDX-License-Identifier: Apache-2.0
 *
 * For the tests of uploaded policies on disk: a folder of their own, and one policy
 * (qos/one) whose versions are named by letters. */
#ifndef NEAP_T_LIB_VERSIONS_RIG_H
#define NEAP_T_LIB_VERSIONS_RIG_H

#include "api/policy/folder.h"

extern const struct neap_policy_id versions_id;
extern char versions_base[64];    /* exists */
extern char versions_dir[80];     /* below it; does not */
extern char versions_folder[96];  /* of the policy */
extern int64_t versions_now_usec; /* of the next line */
extern bool versions_is_editor;   /* so are they who put next */

int versions_setup(void **state);
int versions_teardown(void **state);
/* A shell command; fails the test when it fails. */
void versions_run(const char *fmt, ...) NEAP_PRINTF(1, 2);

/* Text of a letter, and its version; a static buffer. */
const char *versions_text(char letter, char version[NEAP_VERSION_SIZE]);
/* The letter of a version; '-' for none. */
char versions_letter(const char *version);
/* Only "put" has a text; letter 0: no version. */
int versions_put(const char *verb, char letter, struct neap_error *err);
int versions_note(const char *verb, char letter, struct neap_error *err);
/* '-' when none is, or it cannot be read. */
char versions_active(void);
/* +A put, <A rollback by a person, !A rolled back by itself, fA failed, x deleted, rA the
 * file of A is removed, p parameters. */
void versions_play(const char *script);

#endif
