/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of TLS: what is taken, what is refused and how that is said, and what becomes
 * of files that change in all the ways in which they are changed. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/http/tls/tls.h"
#include "engine/base/mem.h"
#include "t/lib/patience.h"
#include "t/lib/tls.h"

static char dir[64], cert_file[96], key_file[96], ca_file[96];
static struct neap_tls_config config;

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/neap-tls-XXXXXX");
	assert_non_null(mkdtemp(dir));
	tls_issue(dir, "ca", &(struct tls_order){"test CA", .usage = "CA"});
	tls_issue(dir, "other",
		  &(struct tls_order){"other", .usage = "CA", .issuer = "other"});
	tls_issue(dir, "one", &(struct tls_order){"one", "neap"});
	tls_issue(dir, "two", &(struct tls_order){"two"});
	tls_issue(dir, "three", &(struct tls_order){"three", .key = "one"});
	tls_issue(dir, "old", &(struct tls_order){"old", .from_s = -7200});
	tls_issue(dir, "early", &(struct tls_order){"early", .from_s = 7200});
	snprintf(cert_file, sizeof(cert_file), "%s/tls.crt", dir);
	snprintf(key_file, sizeof(key_file), "%s/tls.key", dir);
	snprintf(ca_file, sizeof(ca_file), "%s/client-ca.crt", dir);
	config = (struct neap_tls_config){cert_file, key_file, ca_file, geteuid()};
	return 0;
}

static int teardown(void **state)
{
	neap_auto_free char *command = neap_asprintf("rm -rf %s", dir);

	(void)state;
	return system(command);
}

static void write_file(const char *path, const char *text, mode_t mode)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	chmod(path, mode);
}

/* The certificate, key and CA of a working server. */
static void put_files(const char *name)
{
	char from[64];

	snprintf(from, sizeof(from), "%s.crt", name);
	tls_copy(dir, from, "tls.crt");
	snprintf(from, sizeof(from), "%s.key", name);
	tls_copy(dir, from, "tls.key");
	tls_copy(dir, "ca.crt", "client-ca.crt");
	chmod(cert_file, 0644);
	chmod(key_file, 0600);
	chmod(ca_file, 0644);
}

static void test_good(void **state)
{
	struct neap_tls *tls = NULL;
	struct neap_error err;

	(void)state;
	put_files("one");
	assert_int_equal(neap_tls_new(&config, &tls, &err), 0);
	assert_string_equal(neap_tls_facts_get(tls)->subject, "O=neap,CN=one");
	assert_int_equal(strlen(neap_tls_facts_get(tls)->not_after), 20);
	assert_int_equal(neap_tls_look(tls, false, &err), 0);
	assert_int_equal(neap_tls_look(tls, true, &err), 0);
	neap_tls_free(tls);
	chmod(key_file, 0640); /* with a group for neapd */
	assert_int_equal(neap_tls_new(&config, &tls, &err), 0);
	neap_tls_free(tls);
}

/* --- what is refused --- */

static void none(void)
{
}
static void no_cert(void)
{
	unlink(cert_file);
}
static void cert_is_key(void)
{
	tls_copy(dir, "one.key", "tls.crt");
}
static void half_cert(void)
{
	assert_int_equal(truncate(cert_file, 300), 0);
}
static void half_chain(void)
{
	FILE *file = fopen(cert_file, "ae");

	fputs("-----BEGIN CERTIFICATE-----\nMIIB\n", file);
	fclose(file);
}
static void cert_by_others(void)
{
	chmod(cert_file, 0666);
}
static void cert_is_dir(void)
{
	unlink(cert_file);
	mkdir(cert_file, 0755);
}
static void old_cert(void)
{
	tls_copy(dir, "old.crt", "tls.crt");
}
static void early_cert(void)
{
	tls_copy(dir, "early.crt", "tls.crt");
}
static void other_key(void)
{
	tls_copy(dir, "two.key", "tls.key");
}
static void open_key(void)
{
	chmod(key_file, 0644);
}
static void empty_key(void)
{
	write_file(key_file, "", 0600);
}
static void locked_key(void)
{
	write_file(key_file,
		   "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n"
		   "DEK-Info: AES-256-CBC,00112233445566778899AABBCCDDEEFF\n\n"
		   "AAAAAAAAAAAAAAAAAAAAAA==\n-----END EC PRIVATE KEY-----\n",
		   0600);
}
static void no_ca(void)
{
	unlink(ca_file);
}
static void empty_ca(void)
{
	write_file(ca_file, "nothing\n", 0644);
}
static void ca_by_others(void)
{
	chmod(ca_file, 0664);
}
static void large_ca(void)
{
	assert_int_equal(truncate(ca_file, NEAP_TLS_FILE_MAX + 1), 0);
}

static const struct {
	const char *name;
	void (*spoil)(void);
	const char *want;
} bad[] = {
	{"no certificate", no_cert, "tls.crt: No such file"},
	{"a key for a certificate", cert_is_key, "tls.crt: no certificate in it (PEM)"},
	{"half a certificate", half_cert, "tls.crt: no certificate in it (PEM)"},
	{"half a chain", half_chain, "tls.crt: its chain is torn"},
	{"others write the certificate", cert_by_others,
	 "must belong to root or uid %u and not be writable by others"},
	{"a folder", cert_is_dir, "tls.crt: is no regular file"},
	{"expired", old_cert, "--tls-cert %s: the certificate expired on 20"},
	{"not yet", early_cert, "--tls-cert %s: the certificate is not valid before 20"},
	{"another key", other_key, "tls.key: does not belong to the certificate in "},
	{"others read the key", open_key,
	 "tls.key: others can read it (mode 0644): chmod 600 it"},
	{"an empty key", empty_key, "tls.key: no private key in it (PEM)"},
	{"a passphrase", locked_key, "tls.key: has a passphrase"},
	{"no CA", no_ca, "client-ca.crt: No such file"},
	{"an empty CA", empty_ca, "client-ca.crt: no whole certificate of a CA in it"},
	{"others write the CA", ca_by_others, "client-ca.crt: must belong to root"},
	{"a large CA", large_ca, "client-ca.crt: over 1048576 bytes"},
	{"all is well", none, NULL},
};

static void test_bad(void **state)
{
	struct neap_tls *tls = NULL;
	struct neap_error err;
	char want[256];
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(bad); i++) {
		int r;

		rmdir(cert_file);
		put_files("one");
		bad[i].spoil();
		r = neap_tls_new(&config, &tls, &err);
		if (!bad[i].want) {
			assert_int_equal(r, 0);
			neap_tls_free(tls);
			continue;
		}
		if (strstr(bad[i].want, "%s"))
			snprintf(want, sizeof(want), bad[i].want, cert_file);
		else
			snprintf(want, sizeof(want), bad[i].want, (unsigned)geteuid());
		if (r >= 0 || !strstr(err.msg, want))
			fail_msg("%s: %d %s", bad[i].name, r, r < 0 ? err.msg : "taken");
	}
}

/* --- what changes --- */

static void expect_subject(const struct neap_tls *tls, const char *want)
{
	assert_string_equal(neap_tls_facts_get(tls)->subject, want);
}

/* The certificate comes first, its key a moment later: nothing is said of the time
 * between. */
static void test_one_after_the_other(void **state)
{
	struct neap_tls *tls = NULL;
	struct neap_error err;

	(void)state;
	put_files("one");
	assert_int_equal(neap_tls_new(&config, &tls, &err), 0);
	tls_copy(dir, "two.crt", "tls.crt");
	assert_int_equal(neap_tls_look(tls, false, &err), 0);
	expect_subject(tls, "O=neap,CN=one");
	tls_copy(dir, "two.key", "tls.key");
	assert_int_equal(neap_tls_look(tls, false, &err), 1);
	expect_subject(tls, "CN=two");
	assert_int_equal(neap_tls_look(tls, false, &err), 0);
	neap_tls_free(tls);
}

/* What stays wrong is told once, and again when asked, and again when it is wrong in
 * another way. */
static void test_wrong_for_long(void **state)
{
	struct neap_tls *tls = NULL;
	struct neap_error err;

	(void)state;
	put_files("one");
	assert_int_equal(neap_tls_new(&config, &tls, &err), 0);
	half_cert();
	assert_int_equal(neap_tls_look(tls, false, &err), 0);
	assert_int_equal(neap_tls_look(tls, false, &err), -NEAP_EINVAL);
	assert_non_null(strstr(err.msg, "no certificate in it"));
	assert_int_equal(neap_tls_look(tls, false, &err), 0);
	assert_int_equal(neap_tls_look(tls, true, &err), -NEAP_EINVAL);
	assert_int_equal(neap_tls_look(tls, false, &err), 0);
	unlink(cert_file);
	assert_int_equal(neap_tls_look(tls, false, &err), 0);
	assert_int_equal(neap_tls_look(tls, false, &err), -NEAP_ESYS);
	assert_int_equal(neap_tls_look(tls, false, &err), 0);
	expect_subject(tls, "O=neap,CN=one");
	put_files("one");
	assert_int_equal(neap_tls_look(tls, false, &err), 1);
	tls_copy(dir, "other.crt", "client-ca.crt");
	assert_int_equal(neap_tls_look(tls, false, &err), 1);
	neap_tls_free(tls);
}

/* Issued by a machine whose clock is ahead: told, and taken when its time has come. */
static void test_not_yet(void **state)
{
	struct neap_tls *tls = NULL;
	struct neap_error err;
	int r = 1;

	(void)state;
	put_files("one");
	assert_int_equal(neap_tls_new(&config, &tls, &err), 0);
	/* Later, where the machine was too slow to look before that time came. */
	for (int from_s = 3; r == 1 && from_s < 100; from_s *= 2) {
		tls_issue(dir, "soon",
			  &(struct tls_order){"soon", .from_s = from_s, .key = "one"});
		tls_copy(dir, "soon.crt", "tls.crt");
		assert_int_equal(neap_tls_look(tls, false, &err), 0);
		r = neap_tls_look(tls, false, &err);
	}
	assert_int_equal(r, -NEAP_EINVAL);
	assert_non_null(strstr(err.msg, "is not valid before"));
	assert_true(comes_true(neap_tls_look(tls, false, &err) == 1));
	expect_subject(tls, "CN=soon");
	neap_tls_free(tls);
}

static void link_to(const char *target)
{
	char fresh[96], data[96];

	snprintf(fresh, sizeof(fresh), "%s/..data_tmp", dir);
	snprintf(data, sizeof(data), "%s/..data", dir);
	assert_int_equal(symlink(target, fresh), 0);
	assert_int_equal(rename(fresh, data), 0);
}

/* As a kubelet puts a secret there: links to files in a folder behind a link, which is
 * swapped. */
static void test_swapped_link(void **state)
{
	static const char *const versions[] = {"one", "two"};
	struct neap_tls *tls = NULL;
	struct neap_error err;
	char path[96], name[64];
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/..%s", dir, versions[i]);
		mkdir(path, 0755);
		snprintf(path, sizeof(path), "%s.crt", versions[i]);
		snprintf(name, sizeof(name), "..%s/tls.crt", versions[i]);
		tls_copy(dir, path, name);
		snprintf(path, sizeof(path), "%s.key", versions[i]);
		snprintf(name, sizeof(name), "..%s/tls.key", versions[i]);
		tls_copy(dir, path, name);
		snprintf(path, sizeof(path), "%s/%s", dir, name);
		chmod(path, 0400);
	}
	put_files("one");
	unlink(cert_file);
	unlink(key_file);
	assert_int_equal(symlink("..data/tls.crt", cert_file), 0);
	assert_int_equal(symlink("..data/tls.key", key_file), 0);
	link_to("..one");
	assert_int_equal(neap_tls_new(&config, &tls, &err), 0);
	expect_subject(tls, "O=neap,CN=one");
	link_to("..two");
	assert_int_equal(neap_tls_look(tls, false, &err), 1);
	expect_subject(tls, "CN=two");
	neap_tls_free(tls);
	unlink(cert_file);
	unlink(key_file);
}

/* The loop after it gave up root: the key is closed to it, its folder even. */
static void test_key_of_root(void **state)
{
	struct neap_tls *tls = NULL;
	struct neap_error err;
	char secret[96], key[128], path[64];

	(void)state;
	if (geteuid() != 0) {
		print_message("# skip: needs root\n");
		skip();
	}
	put_files("one");
	snprintf(secret, sizeof(secret), "%s/secret", dir);
	mkdir(secret, 0700);
	snprintf(key, sizeof(key), "%s/tls.key", secret);
	snprintf(path, sizeof(path), "secret/tls.key");
	tls_copy(dir, "one.key", path);
	chmod(key, 0600);
	chmod(dir, 0755);
	config.key_file = key;
	config.own_uid = 65534;
	assert_int_equal(neap_tls_new(&config, &tls, &err), 0);
	assert_int_equal(seteuid(65534), 0);
	assert_int_equal(neap_tls_look(tls, false, &err), 0);
	assert_int_equal(seteuid(0), 0);
	tls_copy(dir, "three.crt", "tls.crt");
	assert_int_equal(seteuid(65534), 0);
	assert_int_equal(neap_tls_look(tls, false, &err), 1);
	expect_subject(tls, "CN=three");
	assert_int_equal(seteuid(0), 0);
	tls_copy(dir, "two.crt", "tls.crt");
	tls_copy(dir, "two.key", path);
	assert_int_equal(seteuid(65534), 0);
	assert_int_equal(neap_tls_look(tls, true, &err), -NEAP_EFORBIDDEN);
	assert_non_null(strstr(err.msg, "runs as uid 65534, which may not read it"));
	assert_int_equal(seteuid(0), 0);
	expect_subject(tls, "CN=three");
	neap_tls_free(tls);
	config.key_file = key_file;
	config.own_uid = 0;
}

static void read_file(const char *path, char *buf, size_t size)
{
	FILE *file = fopen(path, "re");
	size_t n;

	assert_non_null(file);
	n = fread(buf, 1, size - 1, file);
	buf[n] = '\0';
	fclose(file);
}

/* The one that neapd makes: kept as long as it is good for these names. */
static void test_make(void **state)
{
	static const char *const few[] = {"localhost", "127.0.0.1", NULL};
	static const char *const more[] = {"localhost", "127.0.0.1", "::1", "node-1",
					   NULL};
	char first[4096], now[4096];
	struct neap_tls *tls = NULL;
	struct neap_error err;
	neap_auto_free char *chain = NULL;
	struct stat st;

	(void)state;
	unlink(cert_file);
	unlink(key_file);
	config.client_ca_file = "";
	assert_int_equal(neap_tls_make(cert_file, key_file, few, &err), 0);
	assert_int_equal(stat(key_file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	read_file(cert_file, first, sizeof(first));
	assert_int_equal(neap_tls_new(&config, &tls, &err), 0);
	expect_subject(tls, "CN=neapd");
	chain = neap_tls_chain(tls);
	assert_string_equal(chain, first);
	neap_tls_free(tls);
	assert_int_equal(neap_tls_make(cert_file, key_file, few, &err), 0);
	read_file(cert_file, now, sizeof(now));
	assert_string_equal(now, first);
	assert_int_equal(neap_tls_make(cert_file, key_file, more, &err), 0);
	read_file(cert_file, now, sizeof(now));
	assert_string_not_equal(now, first);
	/* Fewer names are among them. */
	assert_int_equal(neap_tls_make(cert_file, key_file, few, &err), 0);
	read_file(cert_file, first, sizeof(first));
	assert_string_equal(now, first);
	/* A key that is not its own, one that is torn, and a certificate that ends too
	 * soon. */
	tls_copy(dir, "one.key", "tls.key");
	assert_int_equal(neap_tls_make(cert_file, key_file, few, &err), 0);
	read_file(cert_file, now, sizeof(now));
	assert_string_not_equal(now, first);
	write_file(key_file, "-----BEGIN PRIVATE KEY-----\n", 0600);
	assert_int_equal(neap_tls_make(cert_file, key_file, few, &err), 0);
	tls_copy(dir, "one.crt", "tls.crt");
	tls_copy(dir, "one.key", "tls.key");
	assert_int_equal(neap_tls_make(cert_file, key_file, few, &err), 0);
	assert_int_equal(neap_tls_new(&config, &tls, &err), 0);
	expect_subject(tls, "CN=neapd");
	neap_tls_free(tls);
	/* A folder that is not there. */
	assert_int_equal(neap_tls_make("/nonexistent/c", "/nonexistent/k", few, &err),
			 -NEAP_ESYS);
	config.client_ca_file = ca_file;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_one_after_the_other),
		cmocka_unit_test(test_wrong_for_long),
		cmocka_unit_test(test_not_yet),
		cmocka_unit_test(test_swapped_link),
		cmocka_unit_test(test_key_of_root),
		cmocka_unit_test(test_make),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
