/* SPDX-License-Identifier: Apache-2.0
 *
 * Each option with each set of roles: it does something, or is told as one that does
 * nothing here. A new option needs a row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/config/config.h"
#include "api/config/config_priv.h"

/* value NULL: none is needed; roles "": it is for all. with: the option that it goes
 * with. */
static const struct {
	const char *name, *value, *roles, *with;
} rows[] = {
	{"config", "/dev/null", ""},
	{"listen", "127.0.0.1:1234", ""},
	{"tls-listen", "127.0.0.1:1235", ""},
	{"insecure-listen", "true", "", "listen"},
	{"tls-cert", NULL, "", "listen"}, /* what goes together: test_config.c */
	{"tls-key", NULL, "", "listen"},
	{"tls-client-ca", NULL, "", "listen"},
	{"grant", "reader=anonymous", ""},
	{"token-file", "f", ""},
	{"audit-log", "f", ""},
	{"audit-log-size", "1Mi", "", "audit-log"},
	{"host-names", "a", "", "listen"},
	{"user-connections", "8", ""},
	{"user-watches", "8", ""},
	{"user-requests", "8", ""},
	{"unix-socket", "/tmp/s", ""},
	{"run-dir", "/tmp", ""},
	{"data-dir", "/tmp", ""},
	{"share-dir", ".", ""},
	{"user", "nobody", ""},
	{"policy", "none", "node or scheduler or descheduler"},
	{"policy-dir", "d", "node or scheduler or descheduler"},
	{"deleted-policies-size", "1Mi", "node or scheduler or descheduler"},
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
	{"run-pods-user", "nobody", "node", "run-pods"},
	{"max-pods", "10", "node"},
	{"pod-processes", "10", "node", "run-pods"},
	{"pod-log-size", "1Mi", "node", "run-pods"},
	{"pod-log-files", "2", "node", "run-pods"},
	{"reserve-memory", "1Mi", "node"},
	{"node-grace", "40s", "controllers"},
	{"reservation-gc-age", "1h", "scheduler"},
	{"schedule-default", "false", "scheduler"},
	{"kubeconfig", NULL, "node or scheduler or descheduler"}, /* refused with api */
	{"kube-api-qps", "10", "node or scheduler or descheduler", "kubeconfig"},
	{"kube-api-burst", "10", "node or scheduler or descheduler", "kubeconfig"},
	{"leader-elect", "true", "scheduler or descheduler", "kubeconfig"},
	{"leader-elect-resource-namespace", "a", "scheduler", "kubeconfig"},
	{"leader-elect-resource-name", "a", "scheduler", "kubeconfig"},
	{"leader-elect-lease-duration", "15s", "scheduler or descheduler", "kubeconfig"},
	{"leader-elect-renew-deadline", "10s", "scheduler or descheduler", "kubeconfig"},
	{"leader-elect-retry-period", "2s", "scheduler or descheduler", "kubeconfig"},
	{"scheduler-config", NULL, "scheduler"},
	{"descheduler-config", NULL, "descheduler"}, /* refused without the role */
	{"descheduler-interval", "1m", "descheduler"},
	{"descheduler-dry-run", "true", "descheduler"},
	{"descheduler-max-per-node", "1", "descheduler"},
	{"descheduler-max-per-namespace", "1", "descheduler"},
	{"descheduler-max-total", "1", "descheduler"},
	{"prometheus", "http://127.0.0.1:9090", "descheduler"},
	{"prometheus-ca", "/f", "descheduler"},
	{"prometheus-token", "/f", "descheduler"},
	{"descheduler-leader-elect-resource-namespace", "a", "descheduler", "kubeconfig"},
	{"descheduler-leader-elect-resource-name", "a", "descheduler", "kubeconfig"},
	{"extender-listen", NULL, "scheduler"}, /* refused without: test_config.c */
	{"extender-plain", NULL, "scheduler"},
	{"extender-deadline", "1s", "scheduler", "extender-listen"},
	{"event-ttl", "1h", "api"},
	{"node-name", "n", ""},
	{"node-label", "a=b", "node"},
	{"open-metrics", "true", "", "listen"},
	{"dry-run", "true", "node"},
	{"group", "g", "node"},
	{"best-effort-group", "h", "node"},
	{"kubepods", "off", "node"},
	{"kubelet-dir", "/d", "node", "kubepods"},
	{"kubelet", NULL, "node"}, /* refused with api */
	{"kubelet-certificate-authority", "/f", "node", "kubelet"},
	{"kubelet-client-certificate", "/f", "node", "kubelet"},
	{"kubelet-client-key", "/f", "node", "kubelet"},
	{"kubelet-token-file", "/f", "node", "kubelet"},
	{"kubelet-insecure-tls", "true", "node", "kubelet"},
	{"kubelet-sync-interval", "1s", "node", "kubelet"},
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
	"api,controllers",
	"api,scheduler,controllers",
	"api,scheduler,node",
	"api,controllers,node",
	"api,descheduler",
	"api,descheduler,node",
	"api,scheduler,descheduler,controllers,manager,node",
};

/* Whether the role is one of a set. */
static bool has_role(const char *set, const char *role)
{
	size_t len = strlen(role);

	for (const char *at = set; (at = strstr(at, role)) != NULL; at++)
		if ((at == set || at[-1] == ',') && (at[len] == ',' || at[len] == '\0'))
			return true;
	return false;
}

static bool is_for(const char *roles, const char *set)
{
	char name[32];
	int len;

	if (!*roles)
		return true;
	for (; sscanf(roles, "%31[a-z]%n", name, &len) == 1; roles += len) {
		if (strcmp(name, "or") != 0 && has_role(set, name))
			return true;
		if (roles[len] != '\0')
			len++;
	}
	return false;
}

/* Whether that option is in effect where nobody names it. */
static bool is_on(const char *with, const char *set)
{
	return (strcmp(with, "listen") == 0 && strstr(set, "api")) ||
	       strcmp(with, "kubepods") == 0;
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
			struct neap_config_idle idle = {.name = "", .roles = ""};
			const char *with = rows[i].with;
			bool is_others = !is_for(rows[i].roles, sets[k]);
			bool is_alone = !is_others && with && !is_on(with, sets[k]);
			struct neap_error err;
			size_t index = 0;
			bool is_idle;

			assert_non_null(config);
			/* A grant and a token file want to be read; that is another
			 * matter. */
			if (neap_config_parse(4, argv, config, &action, &err) < 0)
				fail_msg("%s %s: %s", sets[k], flag, err.msg);
			is_idle = neap_config_idle_get(config, &index, &idle);
			if (is_idle != (is_others || is_alone) ||
			    strcmp(idle.name, is_idle ? rows[i].name : "") != 0 ||
			    strcmp(idle.roles, is_idle ? rows[i].roles : "") != 0 ||
			    strcmp(idle.with ? idle.with : "", is_alone ? with : "") != 0)
				fail_msg("--roles %s %s: \"%s\" for \"%s\"", sets[k],
					 flag, idle.name, idle.roles);
			if (neap_config_idle_get(config, &index, &idle))
				fail_msg("--roles %s %s: %s, too", sets[k], flag,
					 idle.name);
			free(config);
		}
	}
}

/* What goes with another option, with it and without. */
static void test_with(void **state)
{
	static const struct {
		const char *args[5];
		const char *idle; /* NULL: none */
	} with_rows[] = {
		{{"--pod-log-size=1Mi"}, "pod-log-size"},
		{{"--pod-log-size=1Mi", "--run-pods", "--run-pods-user=nobody"}, NULL},
		{{"--run-pods=false", "--run-pods-user=nobody"}, "run-pods-user"},
		{{"--audit-log-size=1Mi"}, "audit-log-size"},
		{{"--audit-log-size=1Mi", "--audit-log=f"}, NULL},
		{{"--extender-deadline=1s"}, "extender-deadline"},
		{{"--extender-deadline=1s", "--extender-listen=127.0.0.1:1",
		  "--extender-plain"},
		 NULL},
		{{"--kubelet-dir=/d", "--kubepods=off"}, "kubelet-dir"},
		{{"--kubelet-dir=/d", "--kubepods=pods"}, NULL},
		{{"--open-metrics", "--roles=node"}, "open-metrics"},
		{{"--open-metrics", "--listen=off"}, "open-metrics"},
		{{"--open-metrics", "--roles=node", "--listen=127.0.0.1:1"}, NULL},
		{{"--open-metrics", "--listen=off", "--tls-listen=127.0.0.1:1"}, NULL},
		{{"--roles=node", "--tls-cert=c", "--tls-key=k"}, "tls-cert"},
		{{"--tls-cert=c", "--tls-key=k"}, NULL},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(with_rows); i++) {
		struct neap_config *config = calloc(1, sizeof(*config));
		struct neap_config_idle idle = {.name = ""};
		enum neap_config_action action;
		struct neap_error err;
		char *argv[6] = {(char *)(uintptr_t) "neapd"};
		size_t index = 0;
		int argc = 1;

		assert_non_null(config);
		while (argc < 6 && with_rows[i].args[argc - 1]) {
			argv[argc] = (char *)(uintptr_t)with_rows[i].args[argc - 1];
			argc++;
		}
		if (neap_config_parse(argc, argv, config, &action, &err) < 0)
			fail_msg("row %zu: %s", i, err.msg);
		if (neap_config_idle_get(config, &index, &idle) != !!with_rows[i].idle ||
		    strcmp(idle.name, with_rows[i].idle ? with_rows[i].idle : "") != 0)
			fail_msg("row %zu: \"%s\"", i, idle.name);
		free(config);
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
		cmocka_unit_test(test_with),
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_listen),
	};

	return cmocka_run_group_tests_name("options and roles", tests, NULL, NULL);
}
