/* SPDX-License-Identifier: Apache-2.0
 *
 * Each option with each set of roles: it does something, or is told as one that does nothing here. A new option
 * needs a row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/config.h"
#include "api/config_priv.h"

/* value NULL: none is needed; roles "": it is for all. */
static const struct {
	const char *name, *value, *roles;
} rows[] = {
	{"config", "/dev/null", ""},
	{"listen", "127.0.0.1:1234", ""},
	{"tls-listen", "127.0.0.1:1235", ""},
	{"insecure-listen", "true", ""},
	{"tls-cert", NULL, ""}, /* what goes together: test_config.c */
	{"tls-key", NULL, ""},
	{"tls-client-ca", NULL, ""},
	{"grant", "reader=anonymous", ""},
	{"token-file", "f", ""},
	{"audit-log", "f", ""},
	{"audit-log-size", "1Mi", ""},
	{"host-names", "a", ""},
	{"user-connections", "8", ""},
	{"user-watches", "8", ""},
	{"user-requests", "8", ""},
	{"unix-socket", "/tmp/s", ""},
	{"run-dir", "/tmp", ""},
	{"data-dir", "/tmp", ""},
	{"share-dir", ".", ""},
	{"user", "nobody", ""},
	{"policy", "none", "node or scheduler"},
	{"policy-dir", "d", "node or scheduler"},
	{"deleted-policies-size", "1Mi", "node or scheduler"},
	{"tick", "1s", "node"},
	{"window", "60s", "node"},
	{"release-after", "60s", "node"},
	{"history-age", "5m", "api"},
	{"history-size", "1Mi", "api"},
	{"max-objects", "1000", "api"},
	{"max-objects-size", "1Mi", "api"},
	{"max-owned", "10", "api"},
	{"roles", NULL, ""},
	{"run-pods", NULL, "node"}, /* refused without: test_config_node.c */
	{"run-pods-user", "nobody", "node"},
	{"max-pods", "10", "node"},
	{"pod-processes", "10", "node"},
	{"pod-log-size", "1Mi", "node"},
	{"pod-log-files", "2", "node"},
	{"reserve-memory", "1Mi", "node"},
	{"node-grace", "40s", "manager"},
	{"reservation-gc-age", "1h", "scheduler"},
	{"schedule-default", "false", "scheduler"},
	{"scheduler-config", NULL, "scheduler"},
	{"extender-listen", NULL, "scheduler"}, /* refused without: test_config.c */
	{"extender-plain", NULL, "scheduler"},
	{"extender-deadline", "1s", "scheduler"},
	{"event-ttl", "1h", "api"},
	{"node-name", "n", ""},
	{"node-label", "a=b", "node"},
	{"open-metrics", "true", ""},
	{"dry-run", "true", "node"},
	{"group", "g", "node"},
	{"best-effort-group", "h", "node"},
	{"kubepods", "off", "node"},
	{"kubelet-dir", "/d", "node"},
	{"cgroup-root", "/c", "node"},
	{"sys-root", "/s", "node"},
	{"weight-curve", "log", "node"},
	{"reserve-cpu", "1", "node"},
	{"reserved-cpus", "0", "node"},
	{"system-cpus", "0", "node"},
	{"log-level", "info", ""},
	{"log-format", "text", ""},
	{"seccomp", "on", ""},
	{"give-back", NULL, ""}, /* these end at once */
	{"give-back-later", NULL, ""},
	{"new-store", NULL, ""},
	{"help", NULL, ""},
	{"version", NULL, ""},
};

static const char *const sets[] = {
	"api",
	"node",
	"api,node",
	"api,scheduler",
	"api,manager",
	"api,scheduler,manager",
	"api,scheduler,node",
	"api,manager,node",
	"api,scheduler,manager,node",
};

static bool is_for(const char *roles, const char *set)
{
	char name[32];
	int len;

	if (!*roles)
		return true;
	for (; sscanf(roles, "%31[a-z]%n", name, &len) == 1; roles += len) {
		if (strcmp(name, "or") != 0 && strstr(set, name))
			return true;
		if (roles[len] != '\0')
			len++;
	}
	return false;
}

static void test_each(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		char flag[64];

		(void)snprintf(flag, sizeof(flag), "--%s=%s", rows[i].name,
			       rows[i].value ? rows[i].value : "");
		for (size_t k = 0; rows[i].value && k < NEAP_ARRAY_LEN(sets); k++) {
			char *argv[] = {(char *)(uintptr_t) "neapd",
					(char *)(uintptr_t) "--roles",
					(char *)(uintptr_t)sets[k], flag, NULL};
			struct neap_config *config = calloc(1, sizeof(*config));
			enum neap_config_action action;
			struct neap_config_idle idle = {"", "", ""};
			struct neap_error err;
			size_t index = 0;
			bool is_idle;

			assert_non_null(config);
			/* A grant and a token file want to be read; that is another
			 * matter. */
			if (neap_config_parse(4, argv, config, &action, &err) < 0)
				fail_msg("%s %s: %s", sets[k], flag, err.msg);
			is_idle = neap_config_idle_get(config, &index, &idle);
			if (is_idle == is_for(rows[i].roles, sets[k]) ||
			    strcmp(idle.name, is_idle ? rows[i].name : "") != 0 ||
			    strcmp(idle.roles, is_idle ? rows[i].roles : "") != 0)
				fail_msg("--roles %s %s: \"%s\" for \"%s\"", sets[k],
					 flag, idle.name, idle.roles);
			if (neap_config_idle_get(config, &index, &idle))
				fail_msg("--roles %s %s: %s, too", sets[k], flag,
					 idle.name);
			free(config);
		}
	}
}

/* The table here is that of neapd. */
static void test_all(void **state)
{
	struct neap_config_flag flag;
	size_t i;

	(void)state;
	for (i = 0; neap_config_flag_get(i, &flag); i++) {
		if (i >= NEAP_ARRAY_LEN(rows) || strcmp(rows[i].name, flag.name) != 0)
			fail_msg("--%s needs a row here, in the order of --help",
				 flag.name);
	}
	assert_int_equal(i, NEAP_ARRAY_LEN(rows));
}

/* Whoever names an address is answered there, whatever the roles. */
static void test_listen(void **state)
{
	static const struct {
		const char *args[4];
		bool has_tcp;
	} tcp_rows[] = {
		{{"--roles=api"}, true},
		{{"--roles=node"}, false},
		{{"--roles=node", "--listen=127.0.0.1:1"}, true},
		{{"--roles=node", "--listen=off"}, false},
		{{"--roles=api", "--listen=off"}, false},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(tcp_rows); i++) {
		struct neap_config *config = calloc(1, sizeof(*config));
		enum neap_config_action action;
		struct neap_error err;
		char *argv[5] = {(char *)(uintptr_t) "neapd"};
		int argc = 1;

		assert_non_null(config);
		while (argc < 4 && tcp_rows[i].args[argc - 1]) {
			argv[argc] = (char *)(uintptr_t)tcp_rows[i].args[argc - 1];
			argc++;
		}
		if (neap_config_parse(argc, argv, config, &action, &err) < 0)
			fail_msg("%s", err.msg);
		assert_int_equal(neap_config_has_tcp(config), tcp_rows[i].has_tcp);
		/* TLS for kubectl is for what has objects. */
		assert_int_equal(strcmp(config->tls_listen, "off") != 0,
				 tcp_rows[i].has_tcp && i == 0);
		free(config);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_listen),
	};

	return cmocka_run_group_tests_name("options and roles", tests, NULL, NULL);
}
