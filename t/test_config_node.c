/* SPDX-License-Identifier: Apache-2.0
 *
 * Options that say what a neapd is and does: roles, name and labels of the node,
 * policy-dir, open-metrics; from flags and from a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/config/config.h"
#include "api/config/config_priv.h"
#include "engine/base/mem.h"

#define ARGS_MAX 8

struct row {
	const char *name;
	const char *yaml; /* NULL: no file */
	const char *args[ARGS_MAX];
	/* as print_node() shows it, or how the message begins; FILE stands for its
	 * name */
	const char *want;
};

/* What the tests look at, in one line: roles, name, labels, directory. "-" is the host's
 * name. */
static void print_node(const struct neap_config *c, char *buf, size_t size)
{
	char host[sizeof(c->node_name)] = "";
	int n, i;

	assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
	n = snprintf(buf, size, "%u %s %s%s", c->roles,
		     strcasecmp(c->node_name, host) == 0 ? "-" : c->node_name,
		     c->policy_dir[0] != '\0' ? c->policy_dir : "none",
		     c->open_metrics ? " open" : "");
	for (i = 0; i < c->node_label_count; i++)
		n += snprintf(buf + n, size - (size_t)n, " %s=%s", c->node_labels[i].key,
			      c->node_labels[i].value);
}

#define NODE_DEFAULT "63 - none"

static const struct row good_node[] = {
	{"defaults", NULL, {0}, NODE_DEFAULT},
	{"api only", NULL, {"--roles=api"}, "1 - none"},
	{"node only", NULL, {"--roles", "node"}, "2 - none"},
	{"two, any order", NULL, {"--roles", "node, api"}, "3 - none"},
	{"all, any order",
	 NULL,
	 {"--roles=node,manager,controllers,descheduler,scheduler,api"},
	 NODE_DEFAULT},
	{"a role twice", NULL, {"--roles=node,node"}, "2 - none"},
	{"roles in the file", "roles: node\n", {0}, "2 - none"},
	{"roles beat the file", "roles: node\n", {"--roles=api"}, "1 - none"},
	{"name",
	 NULL,
	 {"--node-name=node-1.rack.example"},
	 "63 node-1.rack.example none"},
	{"name in the file", "node-name: n7\n", {0}, "63 n7 none"},
	{"name beats the file", "node-name: n7\n", {"--node-name=n8"}, "63 n8 none"},
	{"a label", NULL, {"--node-label=pool=batch"}, NODE_DEFAULT " pool=batch"},
	{"labels both ways",
	 NULL,
	 {"--node-label", "pool=batch", "--node-label=example.com/gpu=a100"},
	 NODE_DEFAULT " pool=batch example.com/gpu=a100"},
	{"a label without a value", NULL, {"--node-label=spot="}, NODE_DEFAULT " spot="},
	{"the last value of a key",
	 NULL,
	 {"--node-label=pool=a", "--node-label=x=y", "--node-label=pool=b"},
	 NODE_DEFAULT " pool=b x=y"},
	{"labels in the file",
	 "node-labels:\n  pool: batch\n  rack: \"7\"\n",
	 {0},
	 NODE_DEFAULT " pool=batch rack=7"},
	{"labels in the file, short", "node-labels: {a: b}\n", {0}, NODE_DEFAULT " a=b"},
	{"no labels in the file", "node-labels: {}\n", {0}, NODE_DEFAULT},
	{"labels of flags replace those of the file",
	 "node-labels: {pool: batch, a: b}\n",
	 {"--node-label=pool=x"},
	 NODE_DEFAULT " pool=x"},
	{"directory",
	 NULL,
	 {"--policy-dir=/etc/neap/policies"},
	 "63 - /etc/neap/policies"},
	{"directory in the file", "policy-dir: /p\n", {0}, "63 - /p"},
	{"directory of the file taken back",
	 "policy-dir: /p\n",
	 {"--policy-dir="},
	 NODE_DEFAULT},
	{"open metrics", NULL, {"--open-metrics"}, NODE_DEFAULT " open"},
	{"open metrics with a value", NULL, {"--open-metrics=yes"}, NODE_DEFAULT " open"},
	{"open metrics in the file", "open-metrics: true\n", {0}, NODE_DEFAULT " open"},
	{"closed by flag", "open-metrics: on\n", {"--open-metrics=off"}, NODE_DEFAULT},
};

static const struct row bad[] = {
	{"no role",
	 NULL,
	 {"--roles="},
	 "--roles: '' is no role of this version: there are api, scheduler, descheduler, controllers, manager, node"},
	{"an unknown role",
	 NULL,
	 {"--roles=api,kubelet"},
	 "--roles: 'kubelet' is no role of this version: there are api, scheduler, descheduler, controllers, manager, node"},
	{"an unknown role in the file",
	 "tick: 1s\nroles: all\n",
	 {0},
	 "FILE:2: roles: 'all' is no role of this version: there are api, scheduler, descheduler, controllers, manager, node"},
	{"a scheduler without objects",
	 NULL,
	 {"--roles=node,scheduler"},
	 "--roles: the scheduler works on objects: name api, too, for those of this neapd, or --kubeconfig FILE for a "
	 "cluster's"},
	{"a manager without objects",
	 NULL,
	 {"--roles=node,manager"},
	 "--roles: the manager works on the objects of this neapd: name api, too"},
	{"objects of two servers",
	 NULL,
	 {"--roles=api,scheduler", "--kubeconfig=/k"},
	 "--kubeconfig: with the role api neapd works on its own objects: name the others, as in --roles scheduler"},
	{"pods of two places",
	 NULL,
	 {"--roles=api,node", "--kubelet=https://127.0.0.1:10250"},
	 "--kubelet: the pods of this node come from the role api: name --roles node without it"},
	{"pods of a server and of a kubelet",
	 NULL,
	 {"--roles=node", "--kubeconfig=/k", "--kubelet=https://127.0.0.1:10250"},
	 "--kubelet: the pods of this node come from --kubeconfig: name --roles node without it"},
	{"times of a Lease that do not fit",
	 NULL,
	 {"--roles=scheduler", "--kubeconfig=/k", "--leader-elect-lease-duration=5s"},
	 "--leader-elect-lease-duration must be above --leader-elect-renew-deadline, and that above 1.2 times "
	 "--leader-elect-retry-period"},
	{"one Lease for two roles",
	 NULL,
	 {"--roles=scheduler,descheduler", "--kubeconfig=/k",
	  "--leader-elect-resource-name=koord-descheduler",
	  "--leader-elect-resource-namespace=koordinator-system"},
	 "--descheduler-leader-elect-resource-name: scheduler and descheduler have each a Lease of its own"},
	{"controllers without objects",
	 NULL,
	 {"--roles=scheduler,controllers"},
	 "--roles: the controllers work on the objects of this neapd: name api, too; a cluster has its kube-controller-manager"},
	{"pods without a user",
	 NULL,
	 {"--run-pods"},
	 "--run-pods needs --run-pods-user NAME, as whom pods run: make one with 'useradd "
	 "--system --no-create-home --shell /usr/sbin/nologin neap-pods'"},
	{"pods without a node",
	 NULL,
	 {"--run-pods", "--run-pods-user=daemon", "--roles=api"},
	 "--run-pods needs the roles api and node"},
	{"pods that are not run",
	 NULL,
	 {"--run-pods", "--run-pods-user=daemon", "--dry-run"},
	 "--run-pods and --dry-run: one or the other"},
	{"too many pods",
	 NULL,
	 {"--max-pods=0"},
	 "--max-pods: '0' is out of range: 1 to 10000"},
	{"hardly any objects",
	 NULL,
	 {"--max-objects=1"},
	 "--max-objects: '1' is out of range: 100 to 100000000"},
	{"objects of no size",
	 "max-objects-size: 1Ki\n",
	 {NULL},
	 "FILE:1: max-objects-size: '1Ki' is out of range: 1Mi to 1Ti"},
	{"nothing owned",
	 NULL,
	 {"--max-owned=0"},
	 "--max-owned: '0' is out of range: 1 to 100000000"},
	{"pods by words", NULL, {"--max-pods=many"}, "--max-pods: 'many' is no number"},
	{"a name with capitals",
	 NULL,
	 {"--node-name=Node"},
	 "--node-name: 'Node' is no name: lower case letters, digits, '-' and '.', as in "
	 "node-1.example"},
	{"a name that ends in a dot",
	 NULL,
	 {"--node-name=node."},
	 "--node-name: 'node.' is no name: lower case letters, digits, '-' and '.', as in "
	 "node-1.example"},
	{"a label without =",
	 NULL,
	 {"--node-label=pool"},
	 "--node-label: 'pool' is no label: give KEY=VALUE, for example pool=batch"},
	{"labels as a list",
	 "node-labels: [a, b]\n",
	 {0},
	 "FILE:1: node-labels: must be a mapping (key: value)"},
	{"a label of a list",
	 "node-labels:\n  pool: [a]\n",
	 {0},
	 "FILE:2: pool: must be a text"},
	{"labels under the name of the flag",
	 "node-label: a=b\n",
	 {0},
	 "FILE:1: unknown key 'node-label', did you mean 'node-labels'?"},
	{"labels under the name of the key",
	 NULL,
	 {"--node-labels=a=b"},
	 "unknown option '--node-labels=a=b': did you mean --node-label? (see --help)"},
	{"a directory without a value",
	 NULL,
	 {"--policy-dir"},
	 "--policy-dir needs a value: DIR"},
	{"metrics neither",
	 "open-metrics: 1\n",
	 {0},
	 "FILE:1: open-metrics: '1' is neither true nor false"},
};

static void write_file(const char *file, const char *text, size_t len)
{
	FILE *out = fopen(file, "w");

	assert_non_null(out);
	fwrite(text, 1, len, out);
	fclose(out);
}

/* Parses a row's flags after --config FILE, if it has a file. */
static int parse(const struct row *row, const char *file, struct neap_config *config,
		 enum neap_config_action *action, struct neap_error *err)
{
	char *argv[ARGS_MAX + 4] = {(char *)(uintptr_t) "neapd"};
	int argc = 1, i;

	if (row->yaml) {
		write_file(file, row->yaml, strlen(row->yaml));
		argv[argc++] = (char *)(uintptr_t) "--config";
		argv[argc++] = (char *)(uintptr_t)file;
	}
	for (i = 0; i < ARGS_MAX && row->args[i]; i++)
		argv[argc++] = (char *)(uintptr_t)row->args[i];
	return neap_config_parse(argc, argv, config, action, err);
}

static char file_name[] = "/tmp/neap-config-XXXXXX";

static int setup(void **state)
{
	(void)state;
	return close(mkstemp(file_name));
}

static int teardown(void **state)
{
	(void)state;
	return unlink(file_name);
}

static void test_good_node(void **state)
{
	neap_auto_free struct neap_config *config = neap_alloc(sizeof(*config));
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(good_node); i++) {
		const struct row *row = &good_node[i];
		enum neap_config_action action = NEAP_CONFIG_HELP;
		struct neap_error err = {0};
		char got[1024] = "";

		if (parse(row, file_name, config, &action, &err) < 0)
			fail_msg("%s: %s", row->name, err.msg);
		print_node(config, got, sizeof(got));
		if (strcmp(got, row->want) != 0)
			fail_msg("%s:\n got  %s\n want %s", row->name, got, row->want);
	}
}

/* Labels that no node can have, and one more than fit. */
static void test_bad_labels(void **state)
{
	static const struct {
		const char *label, *want; /* part of what is said */
	} rows[] = {
		{"=batch", "label ''"},
		{"po ol=x", "label 'po ol'"},
		{"-a=x", "label '-a'"},
		{"/a=x", "label '/a'"},
		{"A.example/a=x", "label 'A.example/a'"},
		{"a/b/c=x", "label 'a/b/c'"},
		{"pool=a b", "value 'a b' of label pool"},
		{"pool=-a", "value '-a' of label pool"},
		{"pool=a=b", "value 'a=b' of label pool"},
	};
	neap_auto_free struct neap_config *config = neap_alloc(sizeof(*config));
	enum neap_config_action action;
	struct neap_error err;
	char many[40];
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		const struct row row = {
			"label", NULL, {"--node-label", rows[i].label}, NULL};

		if (parse(&row, file_name, config, &action, &err) >= 0)
			fail_msg("%s: taken", rows[i].label);
		if (strstr(err.msg, "--node-label: ") != err.msg ||
		    strstr(err.msg, rows[i].want) == NULL)
			fail_msg("%s: %s", rows[i].label, err.msg);
	}
	memset(config, 0, sizeof(*config));
	for (i = 0; i <= NEAP_NODE_LABELS_MAX; i++) {
		snprintf(many, sizeof(many), "k%zu", i);
		assert_int_equal(neap_config_add_label(config, many, "v", &err),
				 i < NEAP_NODE_LABELS_MAX ? 0 : -NEAP_ETOOLARGE);
	}
	assert_int_equal(config->node_label_count, NEAP_NODE_LABELS_MAX);
}

static void test_bad_node(void **state)
{
	neap_auto_free struct neap_config *config = neap_alloc(sizeof(*config));
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(bad); i++) {
		enum neap_config_action action = NEAP_CONFIG_HELP;
		struct neap_error err = {0};
		const char *want = bad[i].want, *got = err.msg;

		if (parse(&bad[i], file_name, config, &action, &err) >= 0)
			fail_msg("%s: taken", bad[i].name);
		if (strncmp(want, "FILE", 4) == 0) {
			assert_ptr_equal(strstr(got, file_name), got);
			got += strlen(file_name);
			want += 4;
		}
		/* A list of all keys may follow a question. */
		if (strncmp(got, want, strlen(want)) != 0 ||
		    (got[strlen(want)] != '\0' && want[strlen(want) - 1] != '?'))
			fail_msg("%s:\n got  %s\n want %s", bad[i].name, err.msg,
				 bad[i].want);
	}
}

/* As long as it may be, and one more. */
static void test_long_name(void **state)
{
	neap_auto_free struct neap_config *config = neap_alloc(sizeof(*config));
	char name[sizeof(config->node_name) + 1] = "";
	const struct row row = {"long", NULL, {"--node-name", name}, NULL};
	enum neap_config_action action;
	struct neap_error err;

	(void)state;
	memset(name, 'a', sizeof(name) - 2);
	assert_int_equal(parse(&row, file_name, config, &action, &err), 0);
	assert_string_equal(config->node_name, name);
	name[sizeof(name) - 2] = 'a';
	assert_true(parse(&row, file_name, config, &action, &err) < 0);
	assert_non_null(strstr(err.msg, "is longer than"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_node),
		cmocka_unit_test(test_bad_node),
		cmocka_unit_test(test_bad_labels),
		cmocka_unit_test(test_long_name),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
