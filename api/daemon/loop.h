/* SPDX-License-Identifier: Apache-2.0
 *
 * Connects the node's descriptors and wake-ups to libevent. */
#ifndef NEAP_API_DAEMON_LOOP_H
#define NEAP_API_DAEMON_LOOP_H

#include "api/run/node.h"

struct event_base;
struct neap_loop;

/* Calls wake when the time that the node requested has passed. base is borrowed; NULL
 * without memory. Free it after the node. */
struct neap_loop *neap_loop_new(struct event_base *base, void (*wake)(void *arg),
				void *arg);
void neap_loop_free(struct neap_loop *loop);
struct neap_node_loop neap_loop_functions(struct neap_loop *loop);

#endif
