/* SPDX-License-Identifier: Apache-2.0
 *
 * A kubelet's files through the hand: those of the table, for reading, plain and not
 * too large; nothing else; and its group, which is looked for on the whole machine.
 * Governs the machine. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/hand_rig.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const char *why;
static char dir[64];

static int remove_entry(const char *path, const struct stat *st, int type,
			struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int setup(void **state)
{
	struct hand_rig *rig = rig_new(&why);

	*state = rig;
	(void)snprintf(dir, sizeof(dir), "/tmp/neap-test-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	if (rig)
		(void)neap_strcopy(rig->config.kubelet_dir,
				   sizeof(rig->config.kubelet_dir), dir);
	return 0;
}

static int teardown(void **state)
{
	if (*state)
		rig_free(*state);
	(void)nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	return 0;
}

static struct hand_rig *rig_of(void **state)
{
	if (!*state) {
		print_message("SKIP %s\n", why);
		skip();
	}
	return *state;
}

static const char *in_dir(const char *name)
{
	static char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void put(const char *name, const char *text, mode_t mode)
{
	int fd = open(in_dir(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static struct rig_answer ask(struct hand_rig *rig, const char *name)
{
	return rig_ask(rig, NEAP_HAND_KUBELET, NULL, 0, name, -1);
}

static void refused(struct hand_rig *rig, const char *name, int errnum)
{
	struct rig_answer a = ask(rig, name);

	if (a.errnum != errnum || a.fd != -1 || !a.text[0])
		fail_msg("'%s': %d, wanted %d (%s)", name, a.errnum, errnum, a.text);
}

static void brings_a_file(struct hand_rig *rig, const char *name, const char *text)
{
	struct rig_answer a = ask(rig, name);
	char got[64] = "";

	assert_int_equal(a.errnum, 0);
	assert_true(a.fd >= 0);
	assert_int_equal(read(a.fd, got, sizeof(got) - 1), (ssize_t)strlen(text));
	assert_string_equal(got, text);
	/* For reading only. */
	assert_int_equal(write(a.fd, "x", 1), -1);
	assert_int_equal(errno, EBADF);
	close(a.fd);
}

static void files_are_shown(void **state)
{
	struct hand_rig *rig = rig_of(state);
	char from[128];

	put("cpu_manager_state", "{}", 0600);
	rig_start(rig);
	brings_a_file(rig, "cpu_manager_state", "{}");
	refused(rig, "config.yaml", ENOENT);
	put("config.yaml", "a: 1\n", 0);
	brings_a_file(rig, "config.yaml", "a: 1\n");
	/* What is renamed into its place is another file. */
	put("new", "{\"a\":1}", 0600);
	(void)snprintf(from, sizeof(from), "%s", in_dir("new"));
	assert_int_equal(rename(from, in_dir("cpu_manager_state")), 0);
	brings_a_file(rig, "cpu_manager_state", "{\"a\":1}");
	/* Reading is no writing. */
	assert_int_equal(rig_ask(rig, NEAP_HAND_FREEZE, NULL, 0, NULL, -1).errnum, 0);
	brings_a_file(rig, "config.yaml", "a: 1\n");
}

static void no_other_name(void **state)
{
	static const char *const names[] = {"",
					    ".",
					    "..",
					    "pods",
					    "/etc/shadow",
					    "../../etc/shadow",
					    "./config.yaml",
					    "config.yaml/",
					    "config.yaml ",
					    "Config.yaml",
					    "config.yaml\n",
					    "memory_manager_state"};
	struct hand_rig *rig = rig_of(state);

	put("config.yaml", "a: 1\n", 0600);
	put("memory_manager_state", "{}", 0600);
	rig_start(rig);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++)
		refused(rig, names[i], EPERM);
	brings_a_file(rig, "config.yaml", "a: 1\n");
}

static void plain_files_only(void **state)
{
	struct hand_rig *rig = rig_of(state);

	rig_start(rig);
	assert_int_equal(symlink("/etc/shadow", in_dir("config.yaml")), 0);
	refused(rig, "config.yaml", ELOOP);
	assert_int_equal(unlink(in_dir("config.yaml")), 0);
	assert_int_equal(mkfifo(in_dir("config.yaml"), 0600), 0);
	refused(rig, "config.yaml", EINVAL);
	assert_int_equal(unlink(in_dir("config.yaml")), 0);
	assert_int_equal(mkdir(in_dir("config.yaml"), 0700), 0);
	refused(rig, "config.yaml", EINVAL);
	assert_int_equal(rmdir(in_dir("config.yaml")), 0);
	put("config.yaml", "", 0600);
	assert_int_equal(truncate(in_dir("config.yaml"), NEAP_KUBELET_FILE_MAX + 1), 0);
	refused(rig, "config.yaml", EFBIG);
	put("config.yaml", "b: 2\n", 0600);
	brings_a_file(rig, "config.yaml", "b: 2\n");
}

static void no_folder_no_file(void **state)
{
	struct hand_rig *rig = rig_of(state);

	rig->config.kubelet_dir[0] = '\0';
	put("config.yaml", "a: 1\n", 0600);
	rig_start(rig);
	refused(rig, "config.yaml", ENOTDIR);
}

/* Landlock opens no more places after the start: the folder above is one. */
static void folder_made_later(void **state)
{
	struct hand_rig *rig = rig_of(state);

	(void)snprintf(rig->config.kubelet_dir, sizeof(rig->config.kubelet_dir),
		       "%s/lib/kubelet", dir);
	rig_start(rig);
	refused(rig, "config.yaml", ENOENT);
	assert_int_equal(mkdir(in_dir("lib"), 0700), 0);
	assert_int_equal(mkdir(in_dir("lib/kubelet"), 0700), 0);
	refused(rig, "config.yaml", ENOENT);
	put("lib/kubelet/config.yaml", "a: 1\n", 0600);
	brings_a_file(rig, "config.yaml", "a: 1\n");
}

/* A kubelet that comes later: its group is found by the hand alone, once, and is managed
 * from then on. */
static void group_comes_later(void **state)
{
	static const char *const below[] = {"", "/kubepods", "/kubepods/burstable",
					    "/kubepods/besteffort"};
	struct hand_rig *rig = rig_of(state);
	char group[NEAP_ARRAY_LEN(below)][NEAP_PATH_MAX];
	struct rig_answer a;
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(below); i++)
		(void)snprintf(group[i], sizeof(group[i]), "%.100s-late%s", rig->base,
			       below[i]);
	rig->config.finds_kubelet = true;
	rig_start(rig);
	assert_int_equal(rig_ask(rig, NEAP_HAND_FIND, NULL, 0, NULL, -1).errnum, ENOENT);
	for (i = 0; i < NEAP_ARRAY_LEN(below); i++)
		rig_make(rig, group[i]);
	assert_int_equal(
		rig_ask(rig, NEAP_HAND_SET, group[3], NEAP_KEY_CPU_SHARES, "77", -1)
			.errnum,
		EPERM);
	a = rig_ask(rig, NEAP_HAND_FIND, NULL, 0, NULL, -1);
	assert_int_equal(a.errnum, 0);
	assert_string_equal(a.new_value, group[1]);
	assert_int_equal(
		rig_ask(rig, NEAP_HAND_SET, group[3], NEAP_KEY_CPU_SHARES, "77", -1)
			.errnum,
		0);
	assert_int_equal(
		rig_ask(rig, NEAP_HAND_SET, group[0], NEAP_KEY_CPU_SHARES, "77", -1)
			.errnum,
		EPERM);
	/* Known is known; and it is a kubelet's: no group is made there. */
	assert_int_equal(rig_ask(rig, NEAP_HAND_FIND, NULL, 0, NULL, -1).errnum, EPERM);
	(void)snprintf(group[0], sizeof(group[0]), "%s/podx", group[1]);
	assert_int_equal(rig_ask(rig, NEAP_HAND_MAKE, group[0], 0, NULL, -1).errnum,
			 EPERM);
}

/* Of a dry run: nothing but the files is to be had, nothing is left in the run
 * directory, and it goes with its daemon. */
static void one_that_only_reads(void **state)
{
	struct hand_rig *rig = rig_of(state);
	int pid, op;

	put("cpu_manager_state", "{}", 0600);
	rig->config.only_reads = true;
	rig->config.finds_kubelet = true;
	rig_start(rig);
	for (op = 0; op < NEAP_HAND_OP_COUNT; op++) {
		bool has_key = op == NEAP_HAND_SET || op == NEAP_HAND_RESTORE ||
			       op == NEAP_HAND_OWN;
		bool has_group = has_key || op == NEAP_HAND_MAKE ||
				 op == NEAP_HAND_MAKE_POD || op == NEAP_HAND_REMOVE;

		/* MOVE brings a connection, TRIGGER has a wording of its own, ENTRY is
		 * no request. */
		if (op == NEAP_HAND_KUBELET || op == NEAP_HAND_MOVE ||
		    op == NEAP_HAND_TRIGGER || op == NEAP_HAND_ENTRY)
			continue;
		struct rig_answer a = rig_ask(
			rig, (enum neap_hand_op)op, has_group ? rig->base : NULL,
			has_key ? NEAP_KEY_CPU_SHARES : 0, has_key ? "77" : NULL, -1);

		if (a.errnum != EPERM || strstr(a.text, "only reads") == NULL)
			fail_msg("op %d: %d, %s", op, a.errnum, a.text);
	}
	brings_a_file(rig, "cpu_manager_state", "{}");
	assert_false(rig_has_file(rig, "hand.lock"));
	assert_false(rig_has_file(rig, "hand.journal"));
	pid = neap_hand_pid(rig->hand);
	neap_hand_free(rig->hand);
	rig->hand = NULL;
	assert_int_equal(rig_wait(pid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(files_are_shown),     TEST(no_other_name),
		TEST(plain_files_only),    TEST(no_folder_no_file),
		TEST(folder_made_later),   TEST(group_comes_later),
		TEST(one_that_only_reads),
	};

	return cmocka_run_group_tests_name("hand_kubelet", tests, NULL, NULL);
}
