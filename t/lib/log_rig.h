/* SPDX-License-Identifier: Apache-2.0
 *
 * For tests of pods/NAME/log: a kube_rig with three pods and a folder as the keeper has
 * it, and a client that reads an answer as it comes. */
#ifndef NEAP_T_LIB_LOG_RIG_H
#define NEAP_T_LIB_LOG_RIG_H

#include <ftw.h>
#include <sys/stat.h>

#include "t/lib/kube_rig.h"

#define PODS       "/api/v1/namespaces/default/pods"
#define T(n)       "2026-09-21T14:13:0" #n ".000000000Z" /* kube_now is 20 */
#define F(n, text) T(n) " stdout F " text "\n"

/* "one" has a container main, "two" a, b and an init container i, "new" c. */
enum { LOG_ONE, LOG_TWO, LOG_NEW, LOG_PODS };

extern char log_dir[64];
extern char log_uids[LOG_PODS][64];

/* A state of cmocka's: a struct kube_rig. */
int log_rig_setup(void **state);
int log_rig_teardown(void **state);
/* Makes or changes a file ("main/0/log") of a pod, with its folders. mode: of fopen. */
void log_file_put(int pod, const char *rest, const char *text, const char *mode);
void log_file_rename(int pod, const char *from, const char *to);
/* For nftw: a whole tree. */
int log_file_remove(const char *path, const struct stat *st, int type, struct FTW *at);

struct log_client {
	struct kube_rig *rig;
	int fd, status;
	struct neap_buf raw, text; /* as it came; without the chunks */
	size_t raw_at;
	bool is_ended, is_cut; /* by its last chunk; the connection went */
};

/* query: "one/log?follow=true" */
void log_client_open(struct kube_rig *rig, struct log_client *client, const char *query);
void log_client_close(struct log_client *client);
/* Fails the test, with the name of a row, when the answer does not end. */
void log_client_until_end(struct log_client *client, const char *name);
/* Waits until as much came, which must be want. */
void log_client_until(struct log_client *client, const char *want);

#endif
