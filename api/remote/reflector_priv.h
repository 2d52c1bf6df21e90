/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by reflector.c (requests) and reflector_take.c (objects of the answers). */
#ifndef NEAP_API_REMOTE_REFLECTOR_PRIV_H
#define NEAP_API_REMOTE_REFLECTOR_PRIV_H

#include <jansson.h>

#include "api/remote/frames.h"
#include "api/remote/reflector.h"

struct event;

#define REFLECTOR_VERSION 64 /* bytes of a resourceVersion */

enum reflector_step {
	REFLECTOR_FIND,  /* which version is served */
	REFLECTOR_CHECK, /* whether that version has the resource */
	REFLECTOR_LIST,
	REFLECTOR_WATCH,
};

/* How the next list is requested. */
enum reflector_from {
	FROM_CACHE,      /* what the server has in its cache */
	FROM_LAST,       /* at least as new as what was seen */
	FROM_CONSISTENT, /* the newest, from etcd */
};

struct neap_reflector {
	struct neap_reflector_config config;
	char ns[64], selector[320];
	enum reflector_step step;
	char version[16];  /* that is served; "" */
	char eviction[16]; /* ... of pods/eviction */
	bool is_synced, is_missing_said;

	struct neap_transfer *transfer;
	struct neap_frames frames;
	struct event *timer; /* for the next try */
	int64_t delay_usec, asked_usec, began_usec;
	unsigned seed;

	enum reflector_from from;
	bool has_pages;    /* the server gives lists in pieces */
	bool is_streaming; /* the list comes through a watch */
	bool is_initial;   /* ... and is not complete yet */
	bool has_failed;   /* a frame said that it ends */
	bool is_expired;
	bool is_behind;                 /* a list was of an older state */
	bool was_old;                   /* the last watch was of a version that is gone */
	bool has_frames;                /* of this watch */
	char *next_page;                /* "continue"; NULL */
	char last[REFLECTOR_VERSION];   /* the newest version that was seen; "" */
	char listed[REFLECTOR_VERSION]; /* of the list under way */
	char failure[256];
	struct neap_reflector_counts counts;
};

/* Takes an object of a list or event into the mirror (taken). NEAP_ENOMEM: everything
 * must be read again. An object that neap cannot keep is left out and logged. */
int reflector_show_take(struct neap_reflector *reflector, json_t *object,
			struct neap_error *err);
int reflector_hide_take(struct neap_reflector *reflector, json_t *object,
			struct neap_error *err);
/* Handles a frame of a watch. False: it ends the watch; failure, is_expired say why. */
bool reflector_take_frame(void *arg, const char *text, size_t len);
bool reflector_take_item(void *arg, const char *text, size_t len);
/* Ends a list: objects that it did not contain are gone. */
int reflector_end_list(struct neap_reflector *reflector, struct neap_error *err);

#endif
