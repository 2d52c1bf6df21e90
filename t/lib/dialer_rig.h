/* SPDX-License-Identifier: Apache-2.0
 *
 * A dialer with its reader, what came of them, and servers to dial. */
#ifndef NEAP_T_LIB_DIALER_RIG_H
#define NEAP_T_LIB_DIALER_RIG_H

#include "hw/dialer/dialer.h"
#include "hw/dialer/dialer_priv.h"
#include "t/lib/patience.h"

#define NOBODY  65534
#define FILLERS 8
#define NOT_YET (-2)

/* What came, by id. */
struct dialer_got {
	int fds[NEAP_DIALER_REQUESTS]; /* NOT_YET without an answer */
	char whys[NEAP_DIALER_REQUESTS][NEAP_DIALER_WHY];
	char *text;
	size_t len;
	int answers, reads, ends;
};

extern struct dialer_got got;
extern const struct neap_log no_log;

/* Waits a moment for what is sent, and takes it. */
void hear(struct neap_dialer *dialer);
#define comes(dialer, condition) comes_true((hear(dialer), condition))

/* Forgets what came and starts both; as root they become NOBODY. */
struct neap_dialer *dialer_start(struct neap_dialer_config *config);
/* Frees it and waits for both processes: they end by themselves. */
void dialer_stop(struct neap_dialer *dialer);
/* Asks for a connection. */
void ask(struct neap_dialer *dialer, unsigned server, uint64_t id);

/* A listening socket of 127.0.0.1; bound only with a backlog below 0. */
int listener(int backlog, uint16_t *ret_port);
/* The same of 127.0.0.last; port 0: any. */
int listener_at(int last, int backlog, uint16_t port, uint16_t *ret_port);

/* A port that takes no connection and refuses none: its queue is full. */
struct hole {
	int fd, fillers[FILLERS];
	uint16_t port;
};
void hole_make(struct hole *hole);
void hole_done(struct hole *hole);

#endif
