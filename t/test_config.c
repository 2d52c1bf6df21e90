/* SPDX-License-Identifier: Apache-2.0
 *
 * Options from flags and from a file: what they become, and what is said of wrong
 * ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
	const char
		*want; /* as print() shows it, or the message; FILE stands for its name */
};

static const char *const whos[] = {"user", "group", "unix", "anonymous"};

/* The settings that tests look at, in one line. */
static void print(const struct neap_config *c, char *buf, size_t size)
{
	int n, i, j;

	n = snprintf(buf, size, "%s %s %lld %lld %s%s%d%d%d r%lld %s|%s", c->listen,
		     c->unix_socket, (long long)c->tick_usec,
		     (long long)c->release_after_usec, c->dry_run ? "dry " : "",
		     c->give_back ? "back " : "", (int)c->log_level, (int)c->log_format,
		     (int)c->weight_curve, (long long)c->reserve_milli, c->reserved_cpus,
		     c->kubepods);
	if (c->history_bytes != 64 << 20 || c->history_usec != 300000000)
		n += snprintf(buf + n, size - (size_t)n, " history %lld %lld",
			      (long long)c->history_usec, (long long)c->history_bytes);
	if (*c->tls_cert || c->insecure_listen)
		n += snprintf(buf + n, size - (size_t)n, "%s tls %s %s %s",
			      c->insecure_listen ? " insecure" : "", c->tls_cert,
			      c->tls_key, c->tls_client_ca);
	for (i = 0; i < c->grants.count; i++)
		n += snprintf(buf + n, size - (size_t)n, " %s=%s:%s:%u",
			      neap_http_role_name(c->grants.rows[i].role),
			      whos[c->grants.rows[i].to], c->grants.rows[i].name,
			      (unsigned)c->grants.rows[i].uid);
	for (i = 0; i < c->policy_count; i++) {
		n += snprintf(buf + n, size - (size_t)n, " %s", c->policies[i].source);
		for (j = 0; j < c->policies[i].param_count; j++)
			n += snprintf(buf + n, size - (size_t)n, ",%s=%s",
				      c->policies[i].params[j].name,
				      c->policies[i].params[j].value);
	}
	for (i = 0; i < c->host_app_count; i++)
		n += snprintf(buf + n, size - (size_t)n, " [%s %s %d %d %s %s]",
			      c->host_apps[i].name, neap_qos_name(c->host_apps[i].qos),
			      c->host_apps[i].has_path, (int)c->host_apps[i].base,
			      c->host_apps[i].parent_dir, c->host_apps[i].relative_path);
}

#define START "127.0.0.1:6327 /run/neap/neap.sock 1000000 60000000 "
#define REST  "200 r0 |auto"

static const struct row good[] = {
	{"defaults", NULL, {0}, START REST " qos/cpu-share"},
	{"empty file", "", {0}, START REST " qos/cpu-share"},
	{"comments only", "# nothing\n", {0}, START REST " qos/cpu-share"},
	{"flags both ways",
	 NULL,
	 {"--tick=250ms", "--release-after", "2m", "--dry-run", "--listen=off"},
	 "off /run/neap/neap.sock 250000 120000000 dry " REST " qos/cpu-share"},
	{"run-dir moves the socket",
	 NULL,
	 {"--run-dir", "/tmp/x"},
	 "127.0.0.1:6327 /tmp/x/neap.sock 1000000 60000000 " REST " qos/cpu-share"},
	{"choices",
	 NULL,
	 {"--log-level", "debug", "--log-format=json", "--weight-curve=log"},
	 START "311 r0 |auto qos/cpu-share"},
	{"cpus",
	 NULL,
	 {"--reserve-cpu=1.5", "--reserved-cpus=0-1,4"},
	 START "200 r1500 0-1,4|auto qos/cpu-share"},
	{"history by flags",
	 NULL,
	 {"--history-age=90s", "--history-size", "8Mi", "--policy=none"},
	 START REST " history 90000000 8388608"},
	{"history by file",
	 "history-age: 1h\nhistory-size: 1Gi\npolicies: []\n",
	 {0},
	 START REST " history 3600000000 1073741824"},
	{"no policy", NULL, {"--policy", "none"}, START REST},
	{"policies by flags",
	 NULL,
	 {"--policy", "qos/cpu-suppress:threshold=70,way=cpuset", "--policy=a.lua"},
	 START REST " qos/cpu-suppress,threshold=70,way=cpuset a.lua"},
	{"policies by file",
	 "policies:\n- qos/a\n- {policy: b.lua, params: {x: 1, y: two}}\n",
	 {0},
	 START REST " qos/a b.lua,x=1,y=two"},
	{"no policies by file", "policies: []\n", {0}, START REST},
	{"flag beats file",
	 "tick: 5s\npolicies: [qos/a]\n",
	 {"--tick=2s", "--policy=qos/b"},
	 "127.0.0.1:6327 /run/neap/neap.sock 2000000 60000000 " REST " qos/b"},
	{"file",
	 "dry-run: yes\nlog-level: warn\nkubepods: off\nreserve-cpu: 2\n",
	 {0},
	 START "dry 100 r2000 |off qos/cpu-share"},
	{"false by flag",
	 "dry-run: true\n",
	 {"--dry-run=false"},
	 START REST " qos/cpu-share"},
	{"TLS",
	 NULL,
	 {"--listen=0.0.0.0:1", "--tls-cert=c", "--tls-key=k"},
	 "0.0.0.0:1 /run/neap/neap.sock 1000000 60000000 " REST
	 " tls c k  qos/cpu-share"},
	{"an extender with TLS, and nothing else",
	 NULL,
	 {"--listen=off", "--extender-listen=0.0.0.0:1", "--tls-cert=c", "--tls-key=k",
	  "--tls-client-ca=a"},
	 "off /run/neap/neap.sock 1000000 60000000 " REST " tls c k a qos/cpu-share"},
	{"grants by file",
	 "tls-cert: c\ntls-key: k\ntls-client-ca: a\ngrants:\n"
	 "- reader=user:system:node:n1\n- 'admin=group:a=b'\n",
	 {0},
	 START REST
	 " tls c k a reader=user:system:node:n1:0 admin=group:a=b:0 qos/cpu-share"},
	{"grants of flags replace those of the file",
	 "tls-cert: c\ntls-key: k\ntls-client-ca: a\ngrants: [reader=user:x]\n",
	 {"--grant", "editor=group:o:p", "--grant=reader=user:y=z"},
	 START REST " tls c k a editor=group:o:p:0 reader=user:y=z:0 qos/cpu-share"},
	{"grants to accounts and strangers",
	 NULL,
	 {"--grant=editor=unix:4711", "--grant=admin=unix:root",
	  "--grant=reader=anonymous"},
	 START REST
	 " editor=unix:4711:4711 admin=unix:root:0 reader=anonymous::0 qos/cpu-share"},
	{"grants for users of tokens",
	 NULL,
	 {"--token-file=t", "--grant=node=group:system:nodes"},
	 START REST " node=group:system:nodes:0 qos/cpu-share"},
	{"plain to everybody, as asked",
	 NULL,
	 {"--listen=[::]:1", "--insecure-listen"},
	 "[::]:1 /run/neap/neap.sock 1000000 60000000 " REST
	 " insecure tls    qos/cpu-share"},
	{"plain on this machine",
	 NULL,
	 {"--listen=127.9.9.9:1"},
	 "127.9.9.9:1 /run/neap/neap.sock 1000000 60000000 " REST " qos/cpu-share"},
	{"an address of a node alone",
	 NULL,
	 {"--listen=0.0.0.0:1", "--roles=node", "--insecure-listen"},
	 "0.0.0.0:1 /run/neap/neap.sock 1000000 60000000 " REST
	 " insecure tls    qos/cpu-share"},
	{"host applications",
	 "hostApplications:\n- name: nginx\n  qos: LS\n  cgroupPath:\n    base: CgroupRoot\n"
	 "    parentDir: system.slice\n    relativePath: nginx.service\n"
	 "- {name: batch, qos: BE}\n",
	 {0},
	 START REST
	 " qos/cpu-share [nginx LS 1 0 system.slice nginx.service] [batch BE 0 0  ]"},
};

static const struct row bad[] = {
	{"duration",
	 NULL,
	 {"--tick", "5x"},
	 "--tick: '5x' is no duration: give for example 1s (100ms to 1m)"},
	{"too short",
	 NULL,
	 {"--tick=10ms"},
	 "--tick: '10ms' is out of range: 100ms to 1m"},
	{"unknown near",
	 NULL,
	 {"--tik", "1s"},
	 "unknown option '--tik': did you mean --tick? (see --help)"},
	{"unknown far", NULL, {"--quux"}, "unknown option '--quux' (see --help)"},
	{"a word", NULL, {"start"}, "'start': neapd takes options only (see --help)"},
	{"no value", NULL, {"--listen"}, "--listen needs a value: ADDR:PORT"},
	{"address",
	 NULL,
	 {"--listen=localhost"},
	 "--listen: 'localhost' is no address: give for example 127.0.0.1:6327 or [::1]:6327, or off"},
	{"plain to everybody",
	 NULL,
	 {"--listen=0.0.0.0:6327"},
	 "--listen 0.0.0.0:6327: other machines reach it, and without TLS the token could be "
	 "read on the way: give --tls-cert and --tls-key, or --insecure-listen to allow it"},
	{"plain to everybody, IPv6",
	 NULL,
	 {"--listen=[2001:db8::1]:6327"},
	 "--listen [2001:db8::1]:6327: other machines reach it, and without TLS the token "
	 "could be read on the way: give --tls-cert and --tls-key, or --insecure-listen to allow "
	 "it"},
	{"no key", NULL, {"--tls-cert=c"}, "--tls-cert needs --tls-key FILE too"},
	{"no certificate", NULL, {"--tls-key=c"}, "--tls-key needs --tls-cert FILE too"},
	{"CA alone",
	 NULL,
	 {"--tls-client-ca=c"},
	 "--tls-client-ca needs --tls-cert and --tls-key"},
	{"an extender without TLS",
	 NULL,
	 {"--extender-listen=127.0.0.1:1"},
	 "--extender-listen needs --tls-cert, --tls-key and --tls-client-ca, or "
	 "--extender-plain on an address of this machine"},

	{"a plain extender for everybody",
	 NULL,
	 {"--extender-listen=0.0.0.0:1", "--extender-plain"},
	 "--extender-listen 0.0.0.0:1: other machines reach it: --extender-plain is for "
	 "127.0.0.1 and [::1] alone"},
	{"a plain extender nowhere",
	 NULL,
	 {"--extender-plain"},
	 "--extender-plain needs --extender-listen ADDR:PORT"},
	{"an extender without a scheduler",
	 NULL,
	 {"--extender-listen=127.0.0.1:1", "--extender-plain", "--roles=api"},
	 "--extender-listen needs the role scheduler"},
	{"grants without users",
	 NULL,
	 {"--tls-cert=c", "--tls-key=k", "--grant=reader=user:x"},
	 "--grant for a user or a group needs --tls-client-ca or --token-file: without them "
	 "no client has a user name"},
	{"grant of nothing",
	 NULL,
	 {"--grant=reader"},
	 "--grant: 'reader' grants nothing: give for example editor=user:alice or "
	 "reader=group:developers"},
	{"grant to nobody",
	 NULL,
	 {"--grant=reader=uid:0"},
	 "--grant: 'uid:0' is nobody: there are user:NAME, group:NAME, unix:ACCOUNT and "
	 "anonymous"},
	{"unknown role",
	 NULL,
	 {"--grant=root=user:x"},
	 "--grant: 'root' is no role: there are reader, editor, admin, node"},
	{"grant without a name",
	 NULL,
	 {"--grant=admin=user:"},
	 "--grant: the user's name must have 1 to 259 bytes"},
	{"unknown account",
	 NULL,
	 {"--grant=reader=unix:no-such-account"},
	 "--grant: unix:no-such-account: there is no such account here: give its name or its "
	 "uid"},
	{"node without a name",
	 NULL,
	 {"--grant=node=unix:0"},
	 "--grant: the role node is for user:NAME and group:NAME only: the user's name says "
	 "which node it is"},
	{"all power to strangers",
	 NULL,
	 {"--grant=admin=anonymous"},
	 "--grant: anonymous can be reader or editor, not admin"},
	{"grant in pieces",
	 "grants:\n- {role: reader, user: x}\n",
	 {0},
	 "FILE:2: grants: an entry is a text, for example reader=group:developers"},
	{"grant of the file to nobody",
	 "grants:\n- reader=x\n",
	 {0},
	 "FILE:2: grants: 'x' is nobody: there are user:NAME, group:NAME, unix:ACCOUNT and "
	 "anonymous"},
	{"audit log too small",
	 NULL,
	 {"--audit-log=x", "--audit-log-size=1"},
	 "--audit-log-size: '1' is out of range: 64Ki to 1Ti"},
	{"choice",
	 NULL,
	 {"--log-level=loud"},
	 "--log-level: 'loud' is unknown: there are error, warn, info, debug"},
	{"bool",
	 NULL,
	 {"--dry-run=maybe"},
	 "--dry-run: 'maybe' is neither true nor false"},
	{"cpus",
	 NULL,
	 {"--reserved-cpus=0,9000"},
	 "--reserved-cpus: '0,9000' is no CPU list: give for example 0-3,8"},
	{"no list of CPUs",
	 NULL,
	 {"--reserved-cpus=a"},
	 "--reserved-cpus: 'a' is no CPU list: give for example 0-3,8"},
	{"too little memory",
	 NULL,
	 {"--history-size=1k"},
	 "--history-size: '1k' is out of range: 1Mi to 16Gi"},
	{"no memory",
	 NULL,
	 {"--history-size=much"},
	 "--history-size: 'much' is no amount of memory: give for example 64Mi"},
	{"quantity",
	 NULL,
	 {"--reserve-cpu=-1"},
	 "--reserve-cpu: '-1' is out of range: 0 to 8192"},
	{"group",
	 NULL,
	 {"--group=../x"},
	 "--group: '../x' is no group: a path like neap or a/b, without leading slash and '..'"},
	{"policy parameter",
	 NULL,
	 {"--policy=qos/a:b"},
	 "--policy: 'qos/a:b': after ':' come PARAM=VALUE pairs, for example "
	 "qos/cpu-suppress:threshold=70"},
	{"no file",
	 NULL,
	 {"--config=/nonexistent/neap.yaml"},
	 "--config /nonexistent/neap.yaml: No such file or directory"},
	{"file only option",
	 NULL,
	 {"--hostApplications=a"},
	 "unknown option '--hostApplications=a' (see --help)"},
	{"yaml value",
	 "listen: off\ntick: 5x\n",
	 {0},
	 "FILE:2: tick: '5x' is no duration: give for example 1s (100ms to 1m)"},
	{"yaml twice",
	 "tick: 1s\nlisten: off\ntick: 2s\n",
	 {0},
	 "FILE:3: 'tick' is there already, in line 1"},
	{"yaml list for one",
	 "tick: [1s]\n",
	 {0},
	 "FILE:1: tick: must be a single value"},
	{"yaml policies as text",
	 "policies: qos/a\n",
	 {0},
	 "FILE:1: policies: must be a list"},
	{"yaml policy without name",
	 "policies:\n- {params: {a: 1}}\n",
	 {0},
	 "FILE:2: policies: this entry has no 'policy', for example {policy: qos/cpu-share}"},
	{"yaml unknown policy key",
	 "policies:\n- {polcy: a}\n",
	 {0},
	 "FILE:2: unknown key 'polcy', did you mean 'policy'? there are policy, params"},
	{"yaml no mapping",
	 "- a\n",
	 {0},
	 "FILE:1: the file: must be a mapping (key: value)"},
	{"yaml second document",
	 "tick: 1s\n---\ntick: 2s\n",
	 {0},
	 "FILE:3: a second document starts"},
	{"app without qos",
	 "hostApplications:\n\n- name: a\n",
	 {0},
	 "FILE:3: hostApplications: 'qos' is missing here"},
	{"app qos",
	 "hostApplications:\n- {name: a, qos: XX}\n",
	 {0},
	 "FILE:2: qos: 'XX' is unknown: there are LSE, LSR, LS, BE, SYSTEM"},
	{"app base",
	 "hostApplications:\n- {name: a, qos: LS, cgroupPath: {base: Root}}\n",
	 {0},
	 "FILE:2: base: 'Root' is unknown: there are CgroupRoot, Kubepods, KubepodsBurstable, "
	 "KubepodsBesteffort"},
	{"app twice",
	 "hostApplications:\n- {name: a, qos: LS}\n- {name: a, qos: BE}\n",
	 {0},
	 "FILE:3: hostApplications: 'a' is there twice"},
};

static bool is_chosen(const struct row *row)
{
	const char *chosen = getenv("CASE");

	return !chosen || !*chosen || strcmp(chosen, row->name) == 0;
}

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

static void test_good(void **state)
{
	neap_auto_free struct neap_config *config = neap_alloc(sizeof(*config));
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(good); i++) {
		enum neap_config_action action = NEAP_CONFIG_HELP;
		struct neap_error err = {0};
		char got[1024] = "";

		if (!is_chosen(&good[i]))
			continue;
		if (parse(&good[i], file_name, config, &action, &err) < 0)
			fail_msg("%s: %s", good[i].name, err.msg);
		assert_int_equal(action, NEAP_CONFIG_RUN);
		print(config, got, sizeof(got));
		if (strcmp(got, good[i].want) != 0)
			fail_msg("%s:\n got  %s\n want %s", good[i].name, got,
				 good[i].want);
	}
}

static void test_bad(void **state)
{
	neap_auto_free struct neap_config *config = neap_alloc(sizeof(*config));
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(bad); i++) {
		enum neap_config_action action = NEAP_CONFIG_HELP;
		struct neap_error err = {0};
		char want[512];

		if (!is_chosen(&bad[i]))
			continue;
		if (parse(&bad[i], file_name, config, &action, &err) >= 0)
			fail_msg("%s: taken", bad[i].name);
		if (strncmp(bad[i].want, "FILE", 4) == 0)
			snprintf(want, sizeof(want), "%s%s", file_name, bad[i].want + 4);
		else
			snprintf(want, sizeof(want), "%s", bad[i].want);
		if (strcmp(err.msg, want) != 0)
			fail_msg("%s:\n got  %s\n want %s", bad[i].name, err.msg, want);
		assert_int_equal(action, NEAP_CONFIG_HELP); /* untouched */
	}
}

static void test_unknown_key(void **state)
{
	neap_auto_free struct neap_config *config = neap_alloc(sizeof(*config));
	static const struct row row = {
		"unknown key", "listen: off\ntik: 1s\n", {0}, NULL};
	enum neap_config_action action;
	struct neap_error err;

	(void)state;
	assert_true(parse(&row, file_name, config, &action, &err) < 0);
	assert_non_null(strstr(err.msg,
			       ":2: unknown key 'tik', did you mean 'tick'? there are "
			       "listen, tls-listen, insecure-listen, tls-cert"));
}

static void test_help(void **state)
{
	neap_auto_free struct neap_config *config = neap_alloc(sizeof(*config));
	static const struct row help = {
		"help", NULL, {"--dry-run", "--help", "--bogus"}, NULL};
	static const struct row version = {"version", NULL, {"--version"}, NULL};
	neap_auto_free char *text = neap_config_help();
	const struct neap_option *option;
	enum neap_config_action action;
	struct neap_error err;

	(void)state;
	assert_int_equal(parse(&help, file_name, config, &action, &err), 0);
	assert_int_equal(action, NEAP_CONFIG_HELP);
	assert_int_equal(parse(&version, file_name, config, &action, &err), 0);
	assert_int_equal(action, NEAP_CONFIG_VERSION);
	assert_non_null(text);
	for (option = neap_config_options(); option->flag || option->key; option++) {
		char want[64];

		snprintf(want, sizeof(want), option->flag ? "  --%s" : "%s",
			 option->flag ? option->flag : option->key);
		if (!strstr(text, want))
			fail_msg("the help lacks %s", want);
		assert_true(option->doc && *option->doc);
	}
}

/* Whatever stands in a file, it is refused or taken, and nothing breaks. */
static void test_hostile(void **state)
{
	static const struct {
		const char *name, *head, *repeat;
		size_t times;
	} rows[] = {
		{"deep list", "policies: ", "[", 10000},
		{"deep mapping", "", "a: {", 5000},
		{"too large", "", "# comment comment comment\n", 50000},
		{"many policies", "policies:\n", "- a\n", 100},
		{"many apps", "hostApplications:\n", "- {name: a, qos: LS}\n", 100},
		{"aliases", "a: &a [x, x]\nb: &b [*a, *a]\npolicies: ", "[*b, *b]", 1},
		{"no alias", "tick: *nothing\n", "", 0},
		{"control bytes", "tick: \x01\x02\n", "", 0},
		{"not UTF-8", "tick: \xff\xfe\n", "", 0},
		{"NUL by escape", "tick: \"1s\\0\"\n", "", 0},
		{"key is a list", "[a, b]: 1\n", "", 0},
		{"tabs", "\ttick: 1s\n", "", 0},
	};
	neap_auto_free struct neap_config *config = neap_alloc(sizeof(*config));
	size_t i, j;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		neap_auto_buf struct neap_buf text = {0};
		struct neap_error err = {0};

		neap_buf_init(&text, 4 * NEAP_BUF_FILE);
		neap_buf_adds(&text, rows[i].head);
		for (j = 0; j < rows[i].times; j++)
			neap_buf_adds(&text, rows[i].repeat);
		write_file(file_name, text.data, text.len);
		memset(config, 0, sizeof(*config));
		if (neap_config_read_file(config, file_name, &err) >= 0)
			fail_msg("%s: taken", rows[i].name);
		if (!strstr(err.msg, file_name))
			fail_msg("%s: %s", rows[i].name, err.msg);
	}
}

/* Each allocation of ours fails once: an error, no leak, no half result. */
static void test_no_memory(void **state)
{
	static const struct row row = {"all",
				       "policies: [a, {policy: b, params: {c: d}}]\n",
				       {"--policy=a:b=c"},
				       NULL};
	neap_auto_free struct neap_config *config = neap_alloc(sizeof(*config));
	enum neap_config_action action;
	struct neap_error err;
	int n, r = -1;

	(void)state;
	for (n = 1; r < 0; n++) {
		neap_mem_fail_at((uint64_t)n);
		r = parse(&row, file_name, config, &action, &err);
		neap_mem_fail_at(0);
		assert_true(r >= 0 || err.code == NEAP_ENOMEM ||
			    err.code == NEAP_ETOOLARGE);
		assert_true(n < 1000);
	}
	assert_true(n > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),        cmocka_unit_test(test_bad),
		cmocka_unit_test(test_unknown_key), cmocka_unit_test(test_help),
		cmocka_unit_test(test_hostile),     cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
