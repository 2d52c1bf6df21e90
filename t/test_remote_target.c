/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a kube-apiserver and the credentials for it are found: files in a folder of the
 * test, and an environment of its own. */
#include <fcntl.h>
#include <openssl/evp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/http/tls/tls.h"
#include "api/remote/kubeconfig.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"

/* --- the folder and the environment --- */

static char dir[] = "/tmp/neap-kubeconfig-XXXXXX";
static char *cert, *key, *cert64, *key64; /* a pair, and its base64 */

static const char *path_of(const char *name)
{
	static char paths[8][160];
	static size_t at;
	char *path = paths[at++ % NEAP_ARRAY_LEN(paths)];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static void put(const char *name, const char *text)
{
	const char *path = path_of(name);

	assert_int_equal(neap_file_put(AT_FDCWD, path_of("fresh"), path, text,
				       strlen(text), 0, NULL),
			 0);
}

static char *load(const char *name)
{
	struct neap_buf buf;

	neap_buf_init(&buf, NEAP_BUF_FILE);
	assert_int_equal(neap_file_load(path_of(name), &buf, NULL), 0);
	return neap_buf_take(&buf);
}

static char *base64(const char *text)
{
	char *out = neap_alloc(strlen(text) * 4 / 3 + 8);

	assert_non_null(out);
	(void)EVP_EncodeBlock((unsigned char *)out, (const unsigned char *)text,
			      (int)strlen(text));
	return out;
}

static struct {
	const char *name, *value;
} env[16];

/* NULL takes it away. */
static void env_set(const char *name, const char *value)
{
	size_t i = 0;

	while (env[i].name && strcmp(env[i].name, name) != 0)
		i++;
	assert_true(i + 1 < NEAP_ARRAY_LEN(env));
	env[i].name = name;
	env[i].value = value;
}

static const char *env_find(const char *name)
{
	for (size_t i = 0; env[i].name; i++)
		if (strcmp(env[i].name, name) == 0)
			return env[i].value;
	return NULL;
}

static int setup(void **state)
{
	const char *const names[] = {"localhost", NULL};
	static const char *const folders[] = {"sub", "account", "home", "home/.kube"};

	(void)state;
	(void)memcpy(dir + strlen(dir) - 6, "XXXXXX", 6);
	assert_non_null(mkdtemp(dir));
	for (size_t i = 0; i < NEAP_ARRAY_LEN(folders); i++)
		assert_int_equal(mkdir(path_of(folders[i]), 0700), 0);
	assert_int_equal(
		neap_tls_make(path_of("pair.crt"), path_of("pair.key"), names, NULL), 0);
	assert_int_equal(
		neap_tls_make(path_of("other.crt"), path_of("other.key"), names, NULL),
		0);
	cert = load("pair.crt");
	key = load("pair.key");
	cert64 = base64(cert);
	key64 = base64(key);
	memset(env, 0, sizeof(env));
	return 0;
}

static int teardown(void **state)
{
	char command[64];

	(void)state;
	free(cert);
	free(key);
	free(cert64);
	free(key64);
	(void)snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command); /* NOLINT: a fixed name of our own */
}

static int load_from(const char *file, const char *context,
		     struct neap_remote_target **ret, struct neap_error *err)
{
	const struct neap_remote_source source = {file, context, env_find,
						  path_of("account")};

	memset(err, 0, sizeof(*err));
	return neap_remote_target_load(&source, ret, err);
}

/* The target of a file, which must be right. */
static struct neap_remote_target *loaded(const char *file, const char *context)
{
	struct neap_remote_target *target = NULL;
	struct neap_error err;

	if (load_from(file, context, &target, &err) < 0)
		fail_msg("%s", err.msg);
	return target;
}

/* A kubeconfig with one context, with these fields of its cluster and user. */
static void put_one(const char *name, const char *cluster, const char *user)
{
	neap_auto_free char *text =
		neap_asprintf("apiVersion: v1\n"
			      "kind: Config\n"
			      "current-context: here\n"
			      "contexts:\n"
			      "- name: other\n"
			      "  context: {cluster: none, user: none}\n"
			      "- name: here\n"
			      "  context:\n"
			      "    cluster: c\n"
			      "    user: u\n"
			      "    namespace: shop\n"
			      "clusters:\n"
			      "- name: c\n"
			      "  cluster:\n"
			      "%s"
			      "users:\n"
			      "- name: u\n"
			      "  user:\n"
			      "%s",
			      cluster, user);

	assert_non_null(text);
	put(name, text);
}

/* --- whole files --- */

static void every_field(void **state)
{
	struct neap_remote_target *target;
	neap_auto_free char *cluster = NULL, *user = NULL;

	(void)state;
	cluster = neap_asprintf("    server: https://api.example:6443/k8s/c1/\n"
				"    tls-server-name: inside\n"
				"    certificate-authority-data: %s\n"
				"    certificate-authority: none.crt\n"
				"    disable-compression: true\n"
				"    proxy-url: socks5://proxy.example:1080\n",
				cert64);
	user = neap_asprintf("    client-certificate-data: %s\n"
			     "    client-key-data: %s\n"
			     "    token: abc.def\n"
			     "    as: jane\n"
			     "    as-uid: \"17\"\n"
			     "    as-groups: [dev, ops]\n"
			     "    as-user-extra: {scopes: [view, edit]}\n",
			     cert64, key64);
	put_one("all", cluster, user);
	target = loaded(path_of("all"), NULL);
	assert_string_equal(target->server, "https://api.example:6443/k8s/c1");
	assert_string_equal(target->tls_server_name, "inside");
	assert_string_equal(target->ca_data, cert);
	assert_null(target->ca_file);
	assert_true(target->has_no_compression);
	assert_false(target->is_insecure);
	assert_string_equal(target->proxy_url, "socks5://proxy.example:1080");
	assert_string_equal(target->dial_host, "proxy.example");
	assert_int_equal(target->dial_port, 1080);
	assert_string_equal(target->cert_data, cert);
	assert_string_equal(target->key_data, key);
	assert_string_equal(target->token, "abc.def");
	assert_string_equal(target->ns, "shop");
	assert_string_equal(target->as, "jane");
	assert_string_equal(target->as_uid, "17");
	assert_string_equal(target->as_groups[0], "dev");
	assert_string_equal(target->as_groups[1], "ops");
	assert_null(target->as_groups[2]);
	assert_int_equal(json_array_size(json_object_get(target->as_extra, "scopes")), 2);
	assert_non_null(strstr(target->source, "/all, context here"));
	neap_remote_target_free(target);
}

/* Beside the kubeconfig, not beside who reads it. */
static void relative_files(void **state)
{
	struct neap_remote_target *target;

	(void)state;
	put("sub/ca.crt", cert);
	put("sub/token", " tok\n");
	put_one("sub/config",
		"    server: https://api.example\n"
		"    certificate-authority: ca.crt\n",
		"    client-certificate: ../pair.crt\n"
		"    client-key: ../pair.key\n"
		"    token: older\n"
		"    tokenFile: token\n");
	target = loaded(path_of("sub/config"), NULL);
	assert_string_equal(target->ca_file, path_of("sub/ca.crt"));
	assert_string_equal(target->cert_file, path_of("sub/../pair.crt"));
	assert_string_equal(target->key_file, path_of("sub/../pair.key"));
	assert_string_equal(target->token_file, path_of("sub/token"));
	assert_null(target->token);
	neap_remote_target_free(target);

	assert_int_equal(chdir(path_of("sub")), 0);
	target = loaded("config", NULL);
	assert_int_equal(chdir("/"), 0);
	assert_string_equal(target->token_file, path_of("sub/token"));
	neap_remote_target_free(target);

	/* A token counts when its file cannot be read. */
	assert_int_equal(unlink(path_of("sub/token")), 0);
	target = loaded(path_of("sub/config"), NULL);
	assert_string_equal(target->token, "older");
	assert_null(target->token_file);
	neap_remote_target_free(target);
}

/* --- which source counts --- */

#define SERVER(name) "    server: https://" name "\n"

static void account_make(void)
{
	put("account/token", "t");
	put("account/ca.crt", cert);
	put("account/namespace", "kube-system\n");
	env_set("KUBERNETES_SERVICE_HOST", "10.0.0.1");
	env_set("KUBERNETES_SERVICE_PORT", "443");
}

static void the_order(void **state)
{
	struct neap_remote_target *target = NULL;
	neap_auto_free char *list = NULL;
	struct neap_error err;

	(void)state;
	assert_int_equal(load_from(NULL, NULL, &target, &err), -NEAP_ENOTFOUND);
	assert_non_null(strstr(err.msg, "KUBECONFIG"));
	assert_non_null(strstr(err.msg, "KUBERNETES_SERVICE_HOST"));
	assert_non_null(strstr(err.msg, ".kube/config"));

	env_set("HOME", path_of("home"));
	put_one("home/.kube/config", SERVER("home"), "    token: a\n");
	target = loaded(NULL, NULL);
	assert_string_equal(target->server, "https://home");
	neap_remote_target_free(target);

	account_make();
	target = loaded(NULL, NULL);
	assert_string_equal(target->server, "https://10.0.0.1:443");
	assert_string_equal(target->ca_file, path_of("account/ca.crt"));
	assert_string_equal(target->token_file, path_of("account/token"));
	assert_string_equal(target->ns, "kube-system");
	neap_remote_target_free(target);
	assert_int_equal(load_from(NULL, "here", &target, &err), -NEAP_EINVAL);

	env_set("KUBERNETES_SERVICE_HOST", "fd00::1");
	target = loaded(NULL, NULL);
	assert_string_equal(target->server, "https://[fd00::1]:443");
	assert_string_equal(target->dial_host, "fd00::1");
	assert_int_equal(target->dial_port, 443);
	neap_remote_target_free(target);
	put("account/ca.crt", "none");
	assert_int_equal(load_from(NULL, NULL, &target, &err), -NEAP_EINVAL);
	assert_non_null(strstr(err.msg, path_of("account/ca.crt")));

	put_one("env", SERVER("env"), "    token: a\n");
	list = neap_asprintf("%s::%s", path_of("missing"), path_of("env"));
	env_set("KUBECONFIG", list);
	target = loaded(NULL, NULL);
	assert_string_equal(target->server, "https://env");
	neap_remote_target_free(target);

	put_one("named", SERVER("named"), "    token: a\n");
	target = loaded(path_of("named"), NULL);
	assert_string_equal(target->server, "https://named");
	neap_remote_target_free(target);

	/* Neither falls back to another cluster. */
	env_set("KUBECONFIG", "/missing/a:/missing/b");
	assert_int_equal(load_from(NULL, NULL, &target, &err), -NEAP_ENOTFOUND);
	assert_non_null(strstr(err.msg, "/missing/a:/missing/b"));
	assert_int_equal(load_from("/missing/c", NULL, &target, &err), -NEAP_ENOTFOUND);
	assert_int_equal(err.code, NEAP_ENOTFOUND);
	assert_string_equal(err.msg, "/missing/c does not exist");
}

/* A pod without its token is in no cluster. */
static void no_token_no_cluster(void **state)
{
	struct neap_remote_target *target = NULL;
	struct neap_error err;

	(void)state;
	account_make();
	assert_int_equal(unlink(path_of("account/token")), 0);
	assert_int_equal(load_from(NULL, NULL, &target, &err), -NEAP_ENOTFOUND);
	put("account/token", "t");
	env_set("KUBERNETES_SERVICE_PORT", "");
	assert_int_equal(load_from(NULL, NULL, &target, &err), -NEAP_ENOTFOUND);
}

static void merged(void **state)
{
	struct neap_remote_target *target;
	neap_auto_free char *list = NULL;

	(void)state;
	put("one", "contexts:\n"
		   "- {name: x, context: {cluster: c, user: u}}\n"
		   "clusters:\n"
		   "- {name: c, cluster: {server: https://first}}\n");
	put("sub/two", "current-context: x\n"
		       "contexts:\n"
		       "- {name: x, context: {cluster: other, user: other}}\n"
		       "- {name: z, context: {cluster: d, user: u}}\n"
		       "clusters:\n"
		       "- {name: c, cluster: {server: https://second}}\n"
		       "- {name: d, cluster: {server: https://third}}\n"
		       "users:\n"
		       "- {name: u, user: {tokenFile: token}}\n");
	put("empty", "");
	put("sub/token", "t");
	list = neap_asprintf("%s:%s:%s", path_of("empty"), path_of("one"),
			     path_of("sub/two"));
	env_set("KUBECONFIG", list);
	target = loaded(NULL, NULL);
	assert_string_equal(target->server, "https://first");
	assert_string_equal(target->token_file, path_of("sub/token"));
	assert_non_null(strstr(target->source, "/one, context x"));
	neap_remote_target_free(target);
	target = loaded(NULL, "z");
	assert_string_equal(target->server, "https://third");
	neap_remote_target_free(target);
}

/* --- what is wrong --- */

#define URL "clusters[0].cluster.server"

/* CERT and KEY64 and so on are put in. */
static const struct wrong {
	const char *cluster, *user;
	enum neap_code code;
	const char *field, *text; /* text: a part of the message behind the file */
} wrongs[] = {
	{"    server: api.example:6443\n", "", NEAP_EINVAL, URL,
	 ":15: clusters[0].cluster.server: 'api.example:6443' must begin with https://"},
	{"    server: ftp://me:hidden@api\n", "", NEAP_EINVAL, URL,
	 "must begin with https:// or http://"},
	{"    server: https://api?x=1\n", "", NEAP_EINVAL, URL, "no ? and no #"},
	{"    server: https://api:0\n", "", NEAP_EINVAL, URL, "must have a port above 0"},
	{"    server: https://api:x\n", "", NEAP_EINVAL, URL, "is no URL"},
	{"    server: https://me:hidden@api\n", "", NEAP_EINVAL, URL,
	 "must name no user"},
	{"    server: https://:hidden@api\n", "", NEAP_EINVAL, URL, "must name no user"},
	{"    server: 17\n", "", NEAP_EINVAL, URL, "must be a text: put it in quotes"},
	{"    tls-server-name: a\n", "", NEAP_EINVAL, URL,
	 "must be the URL of the server"},
	{SERVER("a") "    insecure-skip-tls-verify: \"yes\"\n", "", NEAP_EINVAL,
	 "clusters[0].cluster.insecure-skip-tls-verify", ":16: clusters[0]"},
	{SERVER("a") "    insecure-skip-tls-verify: true\n"
		     "    certificate-authority-data: @CERT64\n",
	 "", NEAP_EINVAL, "clusters[0].cluster.insecure-skip-tls-verify",
	 "together with certificate-authority-data"},
	{SERVER("a") "    certificate-authority-data: \"%%%%\"\n", "", NEAP_EINVAL,
	 "clusters[0].cluster.certificate-authority-data",
	 "is no base64: see character 1"},
	{SERVER("a") "    certificate-authority-data: QUJ\n", "", NEAP_EINVAL,
	 "clusters[0].cluster.certificate-authority-data", "not a multiple of 4"},
	{SERVER("a") "    certificate-authority-data: QUJD\n", "", NEAP_EINVAL,
	 "clusters[0].cluster.certificate-authority-data", "base64 of PEM"},
	{SERVER("a") "    certificate-authority-data: @KEY64\n", "", NEAP_EINVAL,
	 "clusters[0].cluster.certificate-authority-data", "has no certificate"},
	{SERVER("a") "    certificate-authority: bad.crt\n", "", NEAP_EINVAL,
	 "clusters[0].cluster.certificate-authority",
	 "/bad.crt has a certificate that cannot be parsed"},
	{SERVER("a") "    certificate-authority: none.crt\n", "", NEAP_ESYS,
	 "clusters[0].cluster.certificate-authority", "No such file"},
	{SERVER("a") "    proxy-url: ftp://proxy\n", "", NEAP_EINVAL,
	 "clusters[0].cluster.proxy-url", "http://, https:// or socks5://"},
	{SERVER("a"), "    exec:\n      command: aws-iam\n      apiVersion: x\n",
	 NEAP_EUNSUPPORTED, "users[0].user.exec",
	 "neapd does not run 'aws-iam' for credentials: give a token"},
	{SERVER("a"), "    auth-provider: {name: oidc}\n", NEAP_EUNSUPPORTED,
	 "users[0].user.auth-provider", "'oidc': give a token or a tokenFile"},
	{SERVER("a"), "    tokenFile: none\n", NEAP_ESYS, "users[0].user.tokenFile",
	 "No such file"},
	{SERVER("a"), "    tokenFile: blank\n", NEAP_EINVAL, "users[0].user.tokenFile",
	 "/blank is empty"},
	{SERVER("a"), "    token: \"a\\nb\"\n", NEAP_EINVAL, "users[0].user.token",
	 "control character"},
	{SERVER("a"), "    token: t\n    username: joe\n", NEAP_EINVAL,
	 "users[0].user.username", "together with a token"},
	{SERVER("a"), "    client-certificate-data: @CERT64\n", NEAP_EINVAL,
	 "users[0].user.client-certificate-data", "needs client-key"},
	{SERVER("a"), "    client-key: pair.key\n", NEAP_EINVAL,
	 "users[0].user.client-key", "needs client-certificate"},
	{SERVER("a"), "    client-certificate: pair.crt\n    client-key: other.key\n",
	 NEAP_EINVAL, "users[0].user.client-key",
	 "/other.key is not the key of the client certificate"},
	{SERVER("a"), "    client-certificate: pair.crt\n    client-key: pair.crt\n",
	 NEAP_EINVAL, "users[0].user.client-key", "has no private key"},
	{SERVER("a"), "    as-groups: [a]\n", NEAP_EINVAL, "users[0].user.as",
	 "must name a user"},
	{SERVER("a"), "    as: a\n    as-groups: [1]\n", NEAP_EINVAL,
	 "users[0].user.as-groups", "must be a list of texts"},
	{SERVER("a"), "    as: a\n    as-user-extra: {x: y}\n", NEAP_EINVAL,
	 "users[0].user.as-user-extra", "must have a list of texts at 'x'"},
};

/* Puts base64 in for @CERT64 and @KEY64. */
static char *filled(const char *text)
{
	const char *at = strchr(text, '@');

	if (!at || (strncmp(at, "@CERT64", 7) != 0 && strncmp(at, "@KEY64", 6) != 0))
		return neap_strdup(text);
	return neap_asprintf("%.*s%s\n", (int)(at - text), text,
			     at[1] == 'C' ? cert64 : key64);
}

static void wrong_fields(void **state)
{
	(void)state;
	put("bad.crt", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
	put("blank", " \n");
	for (size_t i = 0; i < NEAP_ARRAY_LEN(wrongs); i++) {
		const struct wrong *row = &wrongs[i];
		neap_auto_free char *cluster = filled(row->cluster);
		neap_auto_free char *user = filled(row->user);
		struct neap_remote_target *target = NULL;
		struct neap_error err;

		put_one("config", cluster, user[0] ? user : "    token: t\n");
		if (load_from(path_of("config"), NULL, &target, &err) !=
			    -(int)row->code ||
		    err.code != row->code)
			fail_msg("row %zu (%s): code %d: %s", i, row->text, err.code,
				 err.msg);
		if (strcmp(err.field, row->field) != 0 || !strstr(err.msg, row->text) ||
		    strstr(err.msg, "hidden") ||
		    strncmp(err.msg, path_of("config"), strlen(path_of("config"))) != 0)
			fail_msg("row %zu: field %s, %s", i, err.field, err.msg);
	}
}

static const struct {
	const char *config, *context, *text;
} wholes[] = {
	{"clusters: []\n", NULL, "current-context: must name a context (there is none)"},
	{"current-context: x\ncontexts:\n- {name: a, context: {}}\n- {name: b}\n", NULL,
	 ":1: current-context: no context 'x': known: a, b"},
	{"contexts:\n- {name: a, context: {}}\n", "z",
	 "contexts: no context 'z': known: a"},
	{"contexts:\n- name: a\n  context:\n    user: u\n", "a",
	 "contexts[0].context.cluster: must name one of the clusters (there is none)"},
	{"contexts:\n- name: a\n  context:\n    user: u\n    cluster: q\n"
	 "clusters:\n- {name: c}\n",
	 "a", ":5: contexts[0].context.cluster: no cluster 'q': known: c"},
	{"contexts:\n- name: a\n  context:\n    user: v\n    cluster: c\n"
	 "clusters:\n- {name: c}\nusers:\n- {name: u}\n- {name: w}\n",
	 "a", ":4: contexts[0].context.user: no user 'v': known: u, w"},
	{"kind: List\n", NULL, ":1: kind: must be Config"},
	{"apiVersion: v2\n", NULL, ":1: apiVersion: must be v1"},
	{"users: x\n", NULL, ":1: users: must be a list"},
	{"users:\n- {name: a}\n- {name: a}\n", NULL,
	 ":3: users[1].name: 'a' stands here for the second time"},
	{"users:\n- {user: {}}\n", NULL, "users[0].name: must be a text"},
	{"- a\n", NULL, ":1: must be a kubeconfig"},
	{"a: [\n", NULL, "config:"},
};

static void wrong_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(wholes); i++) {
		struct neap_remote_target *target = NULL;
		struct neap_error err;

		put("config", wholes[i].config);
		if (load_from(path_of("config"), wholes[i].context, &target, &err) >= 0 ||
		    !strstr(err.msg, wholes[i].text))
			fail_msg("row %zu (%s): %s", i, wholes[i].text, err.msg);
	}
}

/* A file without a proxy has that of the environment. */
static void proxies(void **state)
{
	struct neap_remote_target *target;

	(void)state;
	env_set("HTTPS_PROXY", "proxy.example:3128");
	put_one("config", SERVER("api"), "    token: t\n");
	target = loaded(path_of("config"), NULL);
	assert_string_equal(target->proxy_url, "http://proxy.example:3128");
	neap_remote_target_free(target);
	put_one("config", SERVER("api") "    proxy-url: http://own:1\n",
		"    token: t\n");
	target = loaded(path_of("config"), NULL);
	assert_string_equal(target->proxy_url, "http://own:1");
	neap_remote_target_free(target);
}

/* Each allocation fails in turn: an error of its own kind, and nothing is left. */
static void no_memory(void **state)
{
	struct neap_remote_target *target = NULL;
	neap_auto_free char *cluster = NULL, *user = NULL;
	struct neap_error err;
	uint64_t n = 0;
	int rc;

	(void)state;
	cluster = neap_asprintf(SERVER("api") "    certificate-authority-data: %s\n",
				cert64);
	user = neap_asprintf("    client-certificate-data: %s\n"
			     "    client-key-data: %s\n"
			     "    tokenFile: pair.crt\n"
			     "    as: jane\n"
			     "    as-groups: [dev, ops]\n",
			     cert64, key64);
	put_one("config", cluster, user);
	env_set("HTTPS_PROXY", "upper:1");
	do {
		const char *file = path_of("config");

		neap_mem_fail_at(++n);
		rc = load_from(file, NULL, &target, &err);
		neap_mem_fail_at(0);
		if (rc < 0 && rc != -NEAP_ENOMEM)
			fail_msg("allocation %llu: %d: %s", (unsigned long long)n, rc,
				 err.msg);
	} while (rc < 0);
	assert_true(n > 20);
	neap_remote_target_free(target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_field, setup, teardown),
		cmocka_unit_test_setup_teardown(relative_files, setup, teardown),
		cmocka_unit_test_setup_teardown(the_order, setup, teardown),
		cmocka_unit_test_setup_teardown(no_token_no_cluster, setup, teardown),
		cmocka_unit_test_setup_teardown(merged, setup, teardown),
		cmocka_unit_test_setup_teardown(wrong_fields, setup, teardown),
		cmocka_unit_test_setup_teardown(wrong_files, setup, teardown),
		cmocka_unit_test_setup_teardown(proxies, setup, teardown),
		cmocka_unit_test_setup_teardown(no_memory, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
