/* SPDX-License-Identifier: Apache-2.0
 *
 * The API over HTTP in the test's own thread: a store in a temporary folder, all built-in
 * kinds and those of KUBE_CRDS, a server on a unix socket and a loopback port, and a
 * client that runs the loop while it waits. */
#ifndef NEAP_T_LIB_KUBE_RIG_H
#define NEAP_T_LIB_KUBE_RIG_H

#include "api/kube/kube.h"
#include "api/kube/loops/crd_loop.h"
#include "api/kube/loops/gc.h"
#include "engine/base/buf.h"
#include "t/lib/store_rig.h"

/* Small, so that tests see what is forgotten. */
#define KUBE_HISTORY_BYTES ((size_t)512 * 1024)
#define KUBE_CRDS          "doc/deploy/crds"

struct kube_rig {
	struct store_rig store;
	struct event_base *base;
	struct event *heard;
	struct neap_http *http;
	struct neap_kube_registry *registry;
	struct neap_kube *kube;
	struct neap_client *client; /* of kube */
	struct neap_kube_collect *collect;
	struct neap_kube_declared *declared;
	char path[96]; /* of the unix socket */
	int port;      /* with the token "secret", and those of KUBE_TOKENS */
	struct neap_tokens *tokens;
	const char *token; /* of the client; see kube_as */
	int fd;            /* of the client; -1 */
	/* Of the last answer. */
	char head[4096];
	json_t *body;
};

/* Unix microseconds that the server sees; it stands still. */
extern int64_t kube_now;

/* A state of cmocka's, for kube_rig_setup and kube_rig_teardown. The namespace "default"
 * is there. */
int kube_rig_setup(void **state);
int kube_rig_teardown(void **state);
/* Without a test; to be stopped by kube_rig_teardown. folder: of the declared kinds;
 * NULL: the built-in ones alone. */
#define kube_rig_start(listen, folder)                                                   \
	kube_rig_start_with(listen, folder, KUBE_HISTORY_BYTES)
/* The same with another size of what the store remembers. */
struct kube_rig *kube_rig_start_with(const char *listen, const char *folder,
				     size_t history_bytes);

/* Version of the store when the rig had started: what it declares is stored, too. */
extern int64_t kube_version;

/* What serves ends, before the server. */
void kube_rig_stop_kube(struct kube_rig *rig);
/* Of users beside the admin's "secret": rose is a reader, eddy an editor, n1 a node,
 * mallory nobody. */
#define KUBE_TOKENS                                                                      \
	"rose-token-of-16,rose,1\neddy-token-of-16,eddy,2,\"dev\"\n"                     \
	"node-token-of-16,system:node:n1,3,system:nodes\nmall-token-of-16,mallory,4\n"

/* The requests from now on come over TCP with a token ("" : without one), or with NULL,
 * as at first, from root over the unix socket. */
void kube_as(struct kube_rig *rig, const char *token);
/* One request. ask: "GET /api/v1/pods"; the methods "MERGE", "STRATEGIC", "JSON" and
 * "APPLY" are PATCH with such a body. body: JSON with ' for ", and '@2' for the second
 * version after kube_version; an object of a declared kind gets its kind and apiVersion
 * where it does not begin with them, and a Binding or Eviction without metadata the name
 * of the path; NULL: none. Returns the status; rig->body is the answer, borrowed until
 * the next one, NULL when it was no JSON. */
int kube_ask(struct kube_rig *rig, const char *ask, const char *body);
/* ... with lines of headers of one's own ("Accept: x\r\n"); body goes as it is. */
int kube_ask_with(struct kube_rig *rig, const char *ask, const char *headers,
		  const char *body, size_t len);

/* The same in two halves: the loop does not run in the first. */
void kube_send(struct kube_rig *rig, const char *ask, const char *body);
int kube_receive(struct kube_rig *rig);

/* What was asked for before is durable and heard by all when it returns, and whatever
 * follows from it within some turns has had its time. False: that, or something else, has
 * written, so that there may be more to come. */
bool kube_is_at_rest(struct kube_rig *rig);

#define KUBE_WANTS 12

struct kube_step {
	const char *ask, *body;
	int status;
	/* Of the answer: "metadata.name=x", "items.0.spec.n=1" (texts bare, all else as
	 * compact JSON), "!status" is absent, "message~part", "#items=3" counts,
	 * "metadata.resourceVersion=@2" is the second version after kube_version. NULL
	 * ends. */
	const char *want[KUBE_WANTS];
};

/* Takes the steps one after the other; the first that fails ends the test. */
void kube_steps(struct kube_rig *rig, const struct kube_step *steps, size_t count);
/* NULL: all is as wanted; else what is not, in a static buffer. */
const char *kube_try(struct kube_rig *rig, const struct kube_step *step);
/* Repeats one until it is as wanted, up to PATIENCE_MS. */
void kube_until(struct kube_rig *rig, const struct kube_step *step);
/* NULL: it is as wanted; else what is not, in a static buffer. */
const char *kube_differs(const json_t *json, const char *want);
/* The member at "a.0.b"; NULL when there is none. */
const json_t *kube_at(const json_t *json, const char *path);
/* Its text, "" when it is none. */
const char *kube_text(const json_t *json, const char *path);
/* Runs the loop for so long, and for as many turns as it would be on an idle machine. */
void kube_run(struct kube_rig *rig, int ms);

/* --- a watch --- */

struct kube_watch {
	struct kube_rig *rig;
	int fd, status;
	bool is_ended;
	struct neap_buf raw, text; /* as it came; without the chunks */
	size_t raw_at, text_at;
	json_t *frame;
};

/* query: "/api/v1/pods?watch=1&..." */
void kube_watch_open(struct kube_rig *rig, struct kube_watch *watch, const char *query);
/* The next frame, borrowed until the next call; NULL when the watch ended or none came
 * within ms. */
const json_t *kube_watch_next(struct kube_watch *watch, int ms);
/* The next frame is "ADDED a", the type and metadata.name of its object; "-": there is
 * none; "end": the watch ends. */
void kube_watch_wants(struct kube_watch *watch, const char *want);
void kube_watch_close(struct kube_watch *watch);

#endif
