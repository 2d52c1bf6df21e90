/* SPDX-License-Identifier: Apache-2.0
 *
 * One file on disk that others could have made: whose it must be, who may write it, which
 * links are followed; each refusal names the file and what would be right. */
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/policy/trusted.h"
#include "api/policy/versions.h"
#include "engine/base/mem.h"

#define OWN 4242 /* the uid that the daemon is taken to have, where root can chown */

static char base[64];
static uid_t own_uid;

static int setup(void **state)
{
	(void)state;
	snprintf(base, sizeof(base), "/tmp/neap-trusted-XXXXXX");
	own_uid = geteuid() == 0 ? OWN : geteuid();
	return mkdtemp(base) ? 0 : -1;
}

static void run(const char *command)
{
	char line[1024];

	snprintf(line, sizeof(line), "umask 022; cd %s && { %s; }", base, command);
	if (system(line) != 0)
		fail_msg("%s", command);
}

static int teardown(void **state)
{
	(void)state;
	(void)umount2(base, MNT_DETACH);
	run("rm -rf *");
	return rmdir(base);
}

static const struct {
	const char *name, *command, *file; /* the file is below the base */
	bool needs_root;
	enum neap_code code;
	const char *says;
} rows[] = {
	{"plain", "echo ok > f", "f", 0, NEAP_OK, ""},
	{"doubled slashes", "echo ok > f", "//.///./f", 0, NEAP_OK, ""},
	{"nothing", "true", "f", 0, NEAP_ENOTFOUND, "f is not there"},
	{"below a file", "echo ok > f", "f/x", 0, NEAP_ENOTFOUND, "is not there"},
	{"folder", "mkdir f", "f", 0, NEAP_EFORBIDDEN, "is no plain file"},
	{"pipe", "mkfifo f", "f", 0, NEAP_EFORBIDDEN, "is no plain file"},
	{"device", "ln -s /dev/zero f", "f", 0, NEAP_EFORBIDDEN, "is no plain file"},
	{"for all", "echo ok > f; chmod 646 f", "f", 0, NEAP_EFORBIDDEN,
	 "(mode 0646): chmod go-w"},
	{"in a folder for all", "mkdir d; echo ok > d/f; chmod 757 d", "d/f", 0,
	 NEAP_EFORBIDDEN,
	 "d/f is in a directory that can be written by others (mode 0757)"},
	{"in a folder like /tmp", "mkdir d; echo ok > d/f; chmod 1777 d", "d/f", 0,
	 NEAP_EFORBIDDEN, "in a directory that"},
	{"too long", "head -c 1001 /dev/zero > f", "f", 0, NEAP_ETOOLARGE,
	 "1001 bytes: at most 1000"},
	{"just fits", "head -c 1000 /dev/zero > f", "f", 0, NEAP_OK, ""},
	{"empty", ": > f", "f", 0, NEAP_OK, ""},
	{"link", "echo ok > g; ln -s g f", "f", 0, NEAP_OK, ""},
	{"link up and down", "mkdir d e; echo ok > e/g; ln -s ../e/g d/f", "d/f", 0,
	 NEAP_OK, ""},
	{"absolute link", "mkdir d; echo ok > g; ln -s $PWD/g d/f", "d/f", 0, NEAP_OK,
	 ""},
	{"folder by link", "mkdir e; echo ok > e/f; ln -s e d", "d/f", 0, NEAP_OK, ""},
	{"ConfigMap",
	 "mkdir ..2026; echo ok > ..2026/f; ln -s ..2026 ..data; ln -s ..data/f f", "f",
	 0, NEAP_OK, ""},
	{"link to nothing", "ln -s g f", "f", 0, NEAP_ENOTFOUND,
	 "(a link leads nowhere)"},
	{"ring", "ln -s f f", "f", 0, NEAP_EFORBIDDEN, "more than 16 symbolic links"},
	{"long chain",
	 "echo ok > l0; for i in $(seq 1 20); do ln -s l$((i-1)) l$i; done; ln -s l20 f",
	 "f", 0, NEAP_EFORBIDDEN, "more than 16 symbolic links"},
	{"link in a folder for all", "mkdir d; echo ok > g; ln -s ../g d/f; chmod 777 d",
	 "d/f", 0, NEAP_EFORBIDDEN, "in a directory that"},
	{"link to a file for all", "echo ok > g; chmod 666 g; ln -s g f", "f", 0,
	 NEAP_EFORBIDDEN, "(mode 0666)"},
	{"link into a folder for all", "mkdir d; echo ok > d/g; ln -s d/g f; chmod 777 d",
	 "f", 0, NEAP_EFORBIDDEN, "in a directory that"},
	{"own", "echo ok > f; chown 4242 f", "f", 1, NEAP_OK, ""},
	{"of another", "echo ok > f; chown 4243 f", "f", 1, NEAP_EFORBIDDEN,
	 "belongs to uid 4243: it must belong to root or uid 4242"},
	{"folder of another", "mkdir d; echo ok > d/f; chown 4243 d", "d/f", 1,
	 NEAP_EFORBIDDEN, "is in a directory that belongs to uid 4243"},
	{"link of another", "echo ok > g; ln -s g f; chown -h 4243 f", "f", 1,
	 NEAP_EFORBIDDEN, "is reached by a link that belongs to uid 4243"},
	{"folder link of another", "mkdir e; echo ok > e/f; ln -s e d; chown -h 4243 d",
	 "d/f", 1, NEAP_EFORBIDDEN, "is reached by a link that belongs to uid 4243"},
	{"root's own group", "echo ok > f; chmod 664 f; chgrp 0 f", "f", 1, NEAP_OK, ""},
	{"another group", "echo ok > f; chmod 664 f; chgrp 65534 f", "f", 1,
	 NEAP_EFORBIDDEN, "(mode 0664)"},
	{"folder of another group", "mkdir d; echo ok > d/f; chmod 775 d; chgrp 65534 d",
	 "d/f", 1, NEAP_EFORBIDDEN, "(mode 0775)"},
	{"no user", "echo ok > f; chown 4242:4242 f; chmod 664 f", "f", 1,
	 NEAP_EFORBIDDEN, "(mode 0664)"},
};

static int trusted_read(const char *file, size_t max, char **ret_text, size_t *ret_len,
			struct neap_error *err)
{
	neap_auto_fd int fd = -1;
	struct stat st;
	int rc = neap_trusted_open(file, own_uid, false, &fd, &st, err);

	return rc < 0 ? rc : neap_fd_read_all(fd, file, max, ret_text, ret_len, err);
}

static void check(size_t i)
{
	struct neap_error err = {0};
	char file[128], *text = NULL;
	size_t len = 0;
	int rc;

	snprintf(file, sizeof(file), "%s/%s", base, rows[i].file);
	rc = trusted_read(file, 1000, &text, &len, &err);
	if (rc != -(int)rows[i].code)
		fail_msg("%s: %d: %s", rows[i].name, rc, err.msg);
	if (rc < 0 && (!strstr(err.msg, rows[i].says) || !strstr(err.msg, base)))
		fail_msg("%s: says '%s'", rows[i].name, err.msg);
	if (rc == 0 && len == 3)
		assert_string_equal(text, "ok\n");
	free(text);
}

static void test_rows(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		if (rows[i].needs_root && geteuid() != 0)
			continue;
		run("rm -rf * ..data ..2026");
		run(rows[i].command);
		check(i);
	}
}

/* What a kubelet makes: modes that anybody could write, on a mount where nobody can. */
static void test_read_only(void **state)
{
	struct neap_error err = {0};
	char file[128], *text = NULL;
	size_t len;

	(void)state;
	if (geteuid() != 0 ||
	    mount("neap-test", base, "tmpfs", 0, "size=64k,mode=0777") < 0) {
		print_message("# skip: needs root: cannot mount a tmpfs\n");
		skip();
	}
	run("mkdir -m 777 ..1; echo ok > ..1/f; chmod 666 ..1/f; ln -s ..1 ..data; "
	    "ln -s ..data/f f");
	snprintf(file, sizeof(file), "%s/f", base);
	assert_int_equal(trusted_read(file, 1000, &text, &len, &err), -NEAP_EFORBIDDEN);
	assert_int_equal(mount(NULL, base, NULL, MS_REMOUNT | MS_RDONLY, "mode=0777"), 0);
	if (trusted_read(file, 1000, &text, &len, &err) < 0)
		fail_msg("%s", err.msg);
	assert_string_equal(text, "ok\n");
	free(text);
	text = NULL;
	/* The owner counts there as well. */
	assert_int_equal(mount(NULL, base, NULL, MS_REMOUNT, "mode=0777"), 0);
	run("chown 4243 ..1/f");
	assert_int_equal(mount(NULL, base, NULL, MS_REMOUNT | MS_RDONLY, "mode=0777"), 0);
	assert_int_equal(trusted_read(file, 1000, &text, &len, &err), -NEAP_EFORBIDDEN);
	assert_int_equal(umount(base), 0);
}

static void test_paths(void **state)
{
	struct neap_error err;
	char *text = NULL, *path = calloc(1, 8001), cwd[256];
	size_t len;

	(void)state;
	run("rm -rf *; echo ok > f");
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	assert_int_equal(chdir(base), 0);
	assert_int_equal(trusted_read("f", 9, &text, &len, &err), 0);
	free(text);
	assert_int_equal(chdir(cwd), 0);
	assert_int_equal(trusted_read("", 9, &text, &len, &err), -NEAP_ENOTFOUND);
	assert_int_equal(trusted_read("/", 9, &text, &len, &err), -NEAP_EFORBIDDEN);
	memset(path, 'x', 8000);
	assert_int_equal(trusted_read(path, 9, &text, &len, &err), -NEAP_ETOOLARGE);
	path[300] = '\0'; /* longer than a name may be */
	assert_true(trusted_read(path, 9, &text, &len, &err) < 0);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_read_only),
		cmocka_unit_test(test_paths),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
