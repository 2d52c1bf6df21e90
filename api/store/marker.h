/* SPDX-License-Identifier: Apache-2.0
 *
 * DATA_DIR/store, one line that says whether DATA_DIR has a store, so that a lost store
 * is not mistaken for a new one:
 *
 *      neap store 5f0d...      it has this store, in one file
 *      neap store 5f0d... open the same, and a neapd has it open, or ended without
 *                              closing it: its log is beside it
 *      neap store new          the next start creates one (neapd --new-store)
 *
 * It follows the store's file, and is rewritten when it is damaged or names another
 * store. */
#ifndef NEAP_API_STORE_MARKER_H
#define NEAP_API_STORE_MARKER_H

#include <stdbool.h>

#include "engine/base/error.h"

#define NEAP_STORE_ID 33 /* hexadecimal digits of a store's id, with NUL */

enum neap_store_mark { NEAP_STORE_UNMARKED, NEAP_STORE_NEW, NEAP_STORE_MARKED };

struct neap_store_marker {
	enum neap_store_mark mark;
	bool is_open;
	char id[NEAP_STORE_ID]; /* "" when the line is damaged: there was a store */
};

int neap_store_marker_read(const char *path, struct neap_store_marker *ret,
			   struct neap_error *err);
/* Writes by rename with sync; owned by the owner of the directory. id NULL:
 * NEAP_STORE_NEW. */
int neap_store_marker_write(const char *path, const char *id, bool is_open,
			    struct neap_error *err);
/* NEAP_EINVAL, with what to do, when the file of an earlier store is missing or empty, or
 * the log of an unclosed store is missing. is_used: other files show that there was a
 * store. *ret_is_used: whether there was. */
int neap_store_marker_check(const struct neap_store_marker *marker, const char *file,
			    bool is_used, bool *ret_is_used, struct neap_error *err);
/* Renames the file and its companions, and lets the next start create a new store. Calls
 * told with each old and new name. NEAP_ECONFLICT while a neapd has it open. */
int neap_store_set_aside(const char *file, const char *marker,
			 void (*told)(const char *from, const char *to),
			 struct neap_error *err);

#endif
