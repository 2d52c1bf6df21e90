/* SPDX-License-Identifier: Apache-2.0
 *
 * The keeper. What lacks memory is the loop's side: an order that it cannot queue is
 * refused and nothing runs, one that it took is told to its end. Needs root. */
#include <errno.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "hw/keeper/keeper.h"
#include "t/torture/torture.h"

#define POD_UID  65534
#define LOOP_UID 65533
#define WAITS    3000

struct stage {
	char base[64];
	struct neap_keeper *keeper;
};

static int entry_remove(const char *path, const struct stat *st, int kind,
			struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

/* NULL where there is no root. */
static void *keeper_setup(void)
{
	struct neap_keeper_config config = {
		.uid = POD_UID,
		.gid = POD_UID,
		.user = "nobody",
		.home = "/",
		.own_uid = LOOP_UID,
		.own_gid = LOOP_UID,
		.log = {-1, NEAP_LOG_ERROR, NEAP_LOG_TEXT, "torture"},
	};
	struct stage *stage;
	struct neap_error err;

	if (geteuid() != 0)
		return NULL;
	stage = calloc(1, sizeof(*stage));
	(void)snprintf(stage->base, sizeof(stage->base), "/tmp/neap-keeper-XXXXXX");
	if (mkdtemp(stage->base) == NULL || chmod(stage->base, 0755) < 0)
		torture_fail("no directory");
	(void)snprintf(config.dir, sizeof(config.dir), "%s/pods", stage->base);
	if (neap_keeper_start(&config, &stage->keeper, &err) < 0)
		torture_fail("start: %s", err.msg);
	return stage;
}

/* Until the last event of id; GO for what waits. */
static int follow(struct stage *stage, uint64_t id, struct neap_error *err)
{
	struct neap_keeper_event event;
	int i, rc;

	for (i = 0; i < WAITS; i++) {
		struct pollfd p = {.fd = neap_keeper_fd(stage->keeper), .events = POLLIN};

		rc = neap_keeper_next(stage->keeper, &event, err);
		if (rc < 0)
			return rc;
		if (rc == 0) {
			(void)poll(&p, 1, 10);
			continue;
		}
		if (event.fd >= 0)
			(void)close(event.fd);
		if (event.id != id)
			torture_fail("an event of another command");
		torture_tell("%d %d %s\n", (int)event.what, event.exit_code, event.text);
		if (event.what == NEAP_KEEPER_WAITING)
			rc = neap_keeper_go(stage->keeper, id, err);
		if (rc < 0)
			return rc;
		if (event.what == NEAP_KEEPER_ENDED)
			return 0;
		if (event.what == NEAP_KEEPER_FAILED || event.what == NEAP_KEEPER_LOST)
			torture_fail("it did not run: %s", event.text);
	}
	torture_fail("no event came");
}

static int keeper_act(void *state, struct neap_error *err)
{
	static const char *const argv[] = {"sh", "-c", "echo x; exit 3", NULL};
	static const char *const envp[] = {"PATH=/usr/bin:/bin", NULL};
	struct neap_keeper_order order = {
		.pod_uid = "p",
		.container = "c",
		.argv = argv,
		.envp = envp,
		.log_bytes_max = 65536,
		.log_files_max = 1,
	};
	struct stage *stage = state;
	int rc;

	if (stage == NULL)
		return 0;
	rc = neap_keeper_run(stage->keeper, 1, &order, err);
	if (rc == 0)
		rc = follow(stage, 1, err);
	if (rc == 0)
		rc = neap_keeper_attach(stage->keeper, 2, "p", "c", 0, err);
	if (rc == 0)
		rc = follow(stage, 2, err);
	order.probe_usec = 60000000;
	if (rc == 0)
		rc = neap_keeper_run(stage->keeper, 3, &order, err);
	return rc == 0 ? follow(stage, 3, err) : rc;
}

static void keeper_teardown(void *state)
{
	struct stage *stage = state;
	int pid;

	if (stage == NULL)
		return;
	pid = neap_keeper_pid(stage->keeper);
	neap_keeper_free(stage->keeper);
	(void)waitpid(pid, NULL, 0); /* neap_keeper_free may have had it */
	(void)nftw(stage->base, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
	free(stage);
}

const struct torture torture_keeper[] = {
	{"keeper: the loop's side", keeper_setup, keeper_act, NULL, keeper_teardown},
	{0},
};
