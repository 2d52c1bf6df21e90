/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of the agent: the agent, and one pod. A pod is reference counted:
 * pending answers about it (a write, the node) hold it even after the agent has dropped
 * it. */
#ifndef NEAP_API_AGENT_POD_AGENT_PRIV_H
#define NEAP_API_AGENT_POD_AGENT_PRIV_H

#include "api/agent/pod/agent.h"
#include "api/agent/pod/probe.h"
#include "engine/base/map.h"
#include "engine/object/object.h"
#include "engine/pod/pod_life.h"

#define AGENT_PROBES 3

/* What a container runs; owned. */
struct agent_order {
	char **argv, **envp; /* NULL ends */
	char *cwd;           /* NULL: the user's home */
};

struct agent_pod;

struct agent_container {
	struct agent_pod *pod;
	size_t index;
	uint64_t id; /* of the keeper's events; 0: none */
	int fd;      /* of WAITING, until the process was moved; -1 */
	bool is_moving;
	int asked_again;       /* number of requests after it was reported lost */
	char failed_move[256]; /* why it could not be moved, until it has ended; "" */
	struct agent_order order;
	struct neap_probe *probes[AGENT_PROBES];
};

struct agent_pod {
	unsigned refs;
	struct neap_agent *agent; /* NULL: dropped */
	struct event *turn;
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME], uid[NEAP_OBJECT_UID];
	json_t *tree; /* latest known; NULL: only its directory is left */
	struct neap_pod_life life;
	struct agent_container *containers; /* parallel to those of life */
	bool is_admitted, is_seen;          /* is_seen: in a list after missed events */
	bool is_hindered;                   /* nothing can be started: reported */
	int64_t due_usec;                   /* of the next turn, monotonic; 0: none */
	bool is_writing;                    /* a status write is pending */
	bool is_removing;                   /* its object's deletion was requested */
	int64_t pause_usec;                 /* after a failed write; doubles */
};

/* The owner of a keeper id: a probe, or the container itself. */
struct agent_id {
	struct agent_container *container;
	struct neap_probe *probe;
};

struct neap_agent {
	struct neap_agent_config config;
	struct neap_client_watch *watch;
	struct event *turn, *heard;
	struct neap_map *pods; /* by uid */
	struct neap_map *ids;
	uint64_t last_id;
	bool is_lost;  /* changes were missed */
	bool has_left; /* a directory could not be removed */
	bool is_keeper_gone;
};

/* --- agent.c --- */
int64_t agent_now(const struct neap_agent *agent);
uint64_t agent_id_new(struct neap_agent *agent, struct agent_container *container,
		      struct neap_probe *probe);
void agent_id_drop(struct neap_agent *agent, uint64_t id);
/* It is over and its object gone: removes its directory. */
void agent_forget_pod(struct agent_pod *pod);
/* Number of admitted pods that are not over. */
size_t agent_count_running(const struct neap_agent *agent);

/* --- agent_pod.c --- */
/* tree: taken, even without memory (NULL). */
struct agent_pod *agent_pod_new(struct neap_agent *agent, json_t *tree,
				const struct neap_object *object);
/* For a directory whose pod is unknown. */
struct agent_pod *agent_pod_new_orphan(struct neap_agent *agent, const char *uid);
/* The object changed. Taken. */
void agent_pod_hear_take(struct agent_pod *pod, json_t *tree);
void agent_pod_end(struct agent_pod *pod); /* the object was deleted */
void agent_pod_wake(struct agent_pod *pod, int64_t usec);
void agent_pod_drop(struct agent_pod *pod); /* running commands go on */
struct agent_pod *agent_pod_ref(struct agent_pod *pod);
void agent_pod_unref(struct agent_pod *pod);
/* Records an event about it; container NULL for the pod itself. */
void agent_note(struct agent_pod *pod, const struct agent_container *container,
		bool is_warning, const char *reason, const char *fmt, ...)
	NEAP_PRINTF(5, 6);
const json_t *agent_spec(const struct agent_pod *pod);
/* Returns the container's part of the object. */
const json_t *agent_container_spec(const struct agent_container *container);

/* --- agent_run.c: containers --- */
void agent_start(struct agent_container *container, unsigned attempt);
void agent_adopt(struct agent_container *container);
void agent_move(struct agent_container *container);
void agent_signal(struct agent_container *container, int signo);
void agent_hear(struct agent_container *container, const struct neap_keeper_event *event);
/* Stops events for it. */
void agent_forget(struct agent_container *container);

/* --- agent_write.c --- */
/* Returns true when the stored status is up to date. */
bool agent_write(struct agent_pod *pod);
void agent_remove(struct agent_pod *pod);

/* --- agent_spec.c --- */
/* Reads containers, unsupported parts, times. */
int agent_decode(struct agent_pod *pod, struct neap_error *err);
/* Records events about unsupported parts. */
void agent_tell_unsupported(struct agent_pod *pod);
/* CPU in thousandths, memory in bytes; NEAP_MISSING: none. what: "limits" or
 * "requests". */
int64_t agent_amount(const json_t *container, const char *what, const char *name);

/* --- agent_env.c --- */
/* Builds its command; NEAP_EINVAL or NEAP_ENOTFOUND says what is missing. */
int agent_order_make(struct agent_container *container, struct agent_order *ret,
		     struct neap_error *err);
void agent_order_done(struct agent_order *order);

/* --- agent_value.c --- */
/* Resolves valueFrom of a variable. *ret NULL: it is optional and missing. */
int agent_value_make(struct agent_container *container, const json_t *from, char **ret,
		     struct neap_error *err);
/* Returns the members of a ConfigMap or Secret as texts: a new reference; NULL with 0:
 * optional and missing. */
int agent_value_all(struct agent_container *container, const json_t *from, json_t **ret,
		    struct neap_error *err);

/* --- agent_folder.c --- */
/* Returns the newest attempt with a directory; -1: none. */
int agent_folder_newest(const char *dir, const char *uid, const char *container);
bool agent_folder_has(const char *dir, const char *uid, const char *container,
		      unsigned attempt);
/* Removes attempts before keep_from; with container NULL those of all containers and the
 * pod's own directory: false when that still exists. */
bool agent_folder_remove(const char *dir, const char *uid, const char *container,
			 unsigned keep_from);
/* Calls take for each name in a pod's directory (uid NULL: of all pods), until it returns
 * false. */
void agent_folder_list(const char *dir, const char *uid,
		       bool (*take)(void *arg, const char *name), void *arg);

#endif
