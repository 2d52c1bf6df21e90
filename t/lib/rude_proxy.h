/* SPDX-License-Identifier: Apache-2.0
 *
 * A proxy for HTTP/1.1 on a loopback port that does to a client what a bad network, a
 * busy kube-apiserver, or something else that answers in its place do: it cuts
 * connections, also in the middle of a frame; cuts answers into small pieces; is late;
 * refuses with and without Retry-After; answers with a page for people; loses the answer
 * of a write that was done; says that versions are too old. By a seed. */
#ifndef NEAP_T_LIB_RUDE_PROXY_H
#define NEAP_T_LIB_RUDE_PROXY_H

#include <stdbool.h>
#include <stdint.h>

struct event_base;
struct rude_proxy;

enum rude_fate {
	RUDE_PASS,    /* as it is, perhaps in pieces */
	RUDE_CUT,     /* some bytes of the answer, and an end */
	RUDE_LOSE,    /* the server does it, and no byte of the answer comes back */
	RUDE_CLOSE,   /* an end before the server hears of it */
	RUDE_BUSY,    /* 429 with Retry-After: 0 */
	RUDE_LATER,   /* 503 with a date as Retry-After: to be taken as none */
	RUDE_BROKEN,  /* 500 without a word */
	RUDE_PAGE,    /* 200 and HTML */
	RUDE_PARTIAL, /* 200 and half an object */
	RUDE_OLD,     /* 410, of a list or watch */
	RUDE_FATES
};

/* port: of the server, on 127.0.0.1. rude: how many of a thousand requests do not just
 * pass. */
struct rude_proxy *rude_proxy_new(struct event_base *base, int port, uint64_t seed,
				  int rude);
int rude_proxy_port(const struct rude_proxy *proxy);
/* From now on everything passes. */
void rude_proxy_calm(struct rude_proxy *proxy);
/* Every connection ends. */
void rude_proxy_cut_all(struct rude_proxy *proxy);
/* Connections are taken, and nothing is answered: until false. */
void rude_proxy_hang(struct rude_proxy *proxy, bool is_hanging);
/* Connections that are taken from now on end at once: until false. */
void rude_proxy_refuse(struct rude_proxy *proxy, bool is_refusing);
/* Connections that were taken so far. */
int rude_proxy_taken(const struct rude_proxy *proxy);
/* How often it did each. */
const int *rude_proxy_counts(const struct rude_proxy *proxy);
void rude_proxy_free(struct rude_proxy *proxy);

#endif
