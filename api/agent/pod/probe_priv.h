/* SPDX-License-Identifier: Apache-2.0
 *
 * A probe, shared by its files: probe.c runs attempts and counts results, probe_net.c
 * connects, probe_spec.c reads the specification, probe_keeper.c passes commands to the
 * keeper. */
#ifndef NEAP_API_AGENT_POD_PROBE_PRIV_H
#define NEAP_API_AGENT_POD_PROBE_PRIV_H

#include "api/agent/pod/probe.h"

/* Bytes of a request with its headers. */
#define PROBE_REQUEST_MAX ((size_t)16 * 1024)
/* Bytes of an answer before its body, and of the body that are read. */
#define PROBE_HEAD_MAX ((size_t)16 * 1024)
#define PROBE_BODY_MAX ((size_t)10 * 1024)
#define PROBE_URL_MAX  512

/* Where to connect, and what to send. */
struct probe_target {
	int port;
	bool is_v4, is_v6; /* 127.0.0.1, ::1; both: one after the other */
	char *request;     /* NULL: opening the connection is the probe */
	size_t request_len;
	char url[PROBE_URL_MAX]; /* for texts */
};

struct probe_spec {
	int64_t delay_usec, period_usec, timeout_usec;
	int64_t success_threshold, failure_threshold;
	char **argv; /* NULL-terminated; NULL: the probe uses target */
	struct probe_target target;
};

/* second_usec: length of a second. Refuses what neap_probe_check refuses. */
int probe_spec_init(struct probe_spec *ret, const json_t *spec, const json_t *ports,
		    int64_t second_usec, struct neap_error *err);
void probe_spec_done(struct probe_spec *spec);
/* Copies NULL-terminated texts; NULL without memory. */
char **probe_texts_dup(const char *const *texts);
void probe_texts_free(char **texts);

/* One attempt over a connection. done is called once, from the loop; text: "" or what
 * failed. What the server sends after the answer is still read for a while, so that it is
 * not cut off. The attempt may be freed in done. */
struct probe_net;
typedef void probe_net_done(void *arg, bool is_success, const char *text);
/* NULL without memory. target is borrowed for its life. */
struct probe_net *probe_net_new(struct event_base *base,
				const struct probe_target *target, int64_t timeout_usec,
				probe_net_done *done, void *arg);
void probe_net_free(struct probe_net *net);

/* The functions that commands need. */
struct probe_orders {
	int (*run)(struct neap_keeper *keeper, uint64_t id,
		   const struct neap_keeper_order *order, struct neap_error *err);
	int (*go)(struct neap_keeper *keeper, uint64_t id, struct neap_error *err);
	int (*kill)(struct neap_keeper *keeper, uint64_t id, int signo,
		    struct neap_error *err);
	void (*forget)(struct neap_keeper *keeper, uint64_t id);
	void (*move)(struct neap_node *node, const char *uid, const char *container,
		     int peer_fd, neap_node_pod_done *done, void *arg);
};

/* neap_probe_new, with orders for commands; borrowed. */
int probe_new_with(const struct neap_probe_config *config,
		   const struct probe_orders *orders, struct neap_probe **ret,
		   struct neap_error *err);

#endif
