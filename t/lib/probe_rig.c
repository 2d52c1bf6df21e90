/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/probe_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "engine/base/mem.h"

#define SECOND_USEC 10000

int64_t probe_rig_now(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* ' for " */
json_t *probe_rig_json(const char *text)
{
	char *copy = neap_strdup(text);
	json_error_t where;
	json_t *json;

	for (char *at = copy; *at; at++)
		if (*at == '\'')
			*at = '"';
	json = json_loads(copy, 0, &where);
	if (!json)
		fail_msg("%s: %s", copy, where.text);
	free(copy);
	return json;
}

struct probe_rig probe_world;

static void told(void *arg, struct neap_probe *probe, enum neap_probe_verdict verdict,
		 const char *text)
{
	(void)arg;
	assert_true(probe_world.count < sizeof(probe_world.told) - 1);
	probe_world.told[probe_world.count++] = "USF"[verdict];
	if (*text)
		(void)snprintf(probe_world.text, sizeof(probe_world.text), "%s", text);
	if (probe_world.frees) {
		neap_probe_free(probe);
		probe_world.probe = NULL;
	}
}

void probe_rig_init(const struct probe_orders *orders, const char *script)
{
	memset(&probe_world, 0, sizeof(probe_world));
	probe_world.base = event_base_new();
	probe_world.orders = orders;
	probe_world.script = script;
	assert_non_null(probe_world.base);
}

void probe_rig_done(void)
{
	neap_probe_free(probe_world.probe);
	event_base_free(probe_world.base);
}

static uint64_t id_new(void *arg, struct neap_probe *probe)
{
	(void)arg;
	(void)probe;
	return ++probe_world.id;
}

void probe_rig_call(const char *what)
{
	size_t len = strlen(probe_world.calls);

	assert_true(len + strlen(what) + 2 < sizeof(probe_world.calls));
	(void)snprintf(probe_world.calls + len, sizeof(probe_world.calls) - len, "%s%s",
		       len ? " " : "", what);
}

static void id_drop(void *arg, uint64_t id)
{
	(void)arg;
	assert_int_equal(id, probe_world.id);
	probe_rig_call("drop");
}

void probe_rig_begin(enum neap_probe_kind kind, json_t *spec)
{
	static const char *const envp[] = {"A=b", NULL};
	const struct neap_probe_config config = {
		.base = probe_world.base,
		.kind = kind,
		.spec = spec,
		.started_usec = probe_rig_now(CLOCK_REALTIME),
		.told = told,
		.arg = &probe_world,
		.second_usec = SECOND_USEC,
		.keeper = (struct neap_keeper *)&probe_world,
		.node = (struct neap_node *)&probe_world,
		.pod_uid = "uid",
		.container = "main",
		.envp = envp,
		.id_new = id_new,
		.id_drop = id_drop,
	};
	struct neap_error err;

	if (probe_new_with(&config, probe_world.orders, &probe_world.probe, &err) < 0)
		fail_msg("%s", err.msg);
	json_decref(spec);
}

void probe_rig_run(int ms)
{
	int64_t end = probe_rig_now(CLOCK_MONOTONIC) + ms * INT64_C(1000);

	while (probe_rig_now(CLOCK_MONOTONIC) < end) {
		(void)event_base_loop(probe_world.base, EVLOOP_NONBLOCK);
		(void)usleep(200);
	}
}
