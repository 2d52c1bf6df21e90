/* SPDX-License-Identifier: Apache-2.0
 *
 * DATA_DIR/store, one line that tells whether DATA_DIR has a store, so that one which is lost is not taken for one that
 * was never there:
 *
 *	neap store 5f0d...	it has this one, in one file
 *	neap store 5f0d... open	the same, and a neapd has it, or ended without closing it: its log is beside it
 *	neap store new		the next start makes one (neapd --new-store)
 *
 * It follows the file of the store, and is written anew where it is another one's or damaged. */
#ifndef NEAP_API_STORE_MARKER_H
#define NEAP_API_STORE_MARKER_H

#include <stdbool.h>

#include "engine/base/error.h"

#define NEAP_STORE_ID 33 /* hexadecimal digits of a store's id, with NUL */

enum neap_store_mark { NEAP_STORE_UNMARKED, NEAP_STORE_NEW, NEAP_STORE_MARKED };

struct neap_store_marker {
	enum neap_store_mark mark;
	bool is_open;
	char id[NEAP_STORE_ID]; /* "" when the line is damaged: there was one */
};

int neap_store_marker_read(const char *path, struct neap_store_marker *ret,
			   struct neap_error *err);
/* Written beside, synced, renamed; it belongs to who has the folder. id NULL: NEAP_STORE_NEW. */
int neap_store_marker_write(const char *path, const char *id, bool is_open,
			    struct neap_error *err);
/* NEAP_EINVAL, with what to do, when the file of a store that there was is missing or empty, or the log of one that
 * nobody closed is missing. is_used: the folder shows by other means that there was one. *ret_is_used: whether there
 * was. */
int neap_store_marker_check(const struct neap_store_marker *marker, const char *file,
			    bool is_used, bool *ret_is_used, struct neap_error *err);
/* Gives the file, and what lies beside it, other names, and has the next start make a new store. told is called with
 * each old and new name. NEAP_ECONFLICT while a neapd has it. */
int neap_store_set_aside(const char *file, const char *marker,
			 void (*told)(const char *from, const char *to),
			 struct neap_error *err);

#endif
