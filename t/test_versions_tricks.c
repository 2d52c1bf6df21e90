/* SPDX-License-Identifier: Apache-2.0
 *
 * Uploaded policies on disk: what others could have put there is refused by its name,
 * whoever the daemon runs as. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "t/lib/patience.h"

#include "t/lib/versions_rig.h"

#define NOBODY 65534

/* --- what others could have done --- */

static const struct {
	const char *name,
		*command; /* runs in the folder of the policy; $V the active version */
	const char *says;
	char can_read, can_put;
} tricks[] = {
	{"policy is a link", "cd .. && mv one two && ln -s two one",
	 "qos/one is no folder", 0, 0},
	{"kind is a link", "cd ../.. && mv qos other && ln -s other qos",
	 "qos is no folder", 0, 0},
	{"all is a link", "cd ../../.. && mv policies other && ln -s other policies",
	 "policies is no folder", 0, 0},
	{"policy is a file", "cd .. && rm -r one && touch one", "qos/one is no folder", 0,
	 0},
	{"folder for all", "chmod 777 .", "qos/one can be written by others", 0, 0},
	{"folder for the group", "chmod 770 .", "qos/one can be written by others", 0, 0},
	{"kind for all", "chmod o+w ..", "qos can be written by others", 0, 0},
	{"active outside", "ln -sfn ../../../outside.lua active",
	 "active points to '../..", 0, 0},
	{"active absolute", "ln -sfn /etc/passwd active", "active points to '/etc", 0, 0},
	{"active to no version", "ln -sfn history.jsonl active",
	 "active points to 'history", 0, 0},
	{"active to capitals", "ln -sfn ABCDEF01.lua active",
	 "active points to 'ABCDEF01.lua", 0, 0},
	{"active is a file", "rm active && cp $V.lua active", "active is no link", 0, 0},
	{"active leads nowhere", "ln -sfn 01234567.lua active",
	 "names the version 01234567", 0, 1},
	{"active is long", "ln -sfn $(printf '%0500d' 1) active",
	 "active points to '0000", 0, 0},
	{"text changed", "echo >> $V.lua", "was changed", 0, 1},
	{"text cut", ": > $V.lua", "was changed", 0, 1},
	{"text too long", "head -c 300000 /dev/zero > $V.lua", "300000 bytes", 0, 1},
	{"text is a link", "cp $V.lua ../x && ln -sf ../x $V.lua", ".lua is a link", 0,
	 1},
	{"text is a pipe", "rm $V.lua && mkfifo $V.lua", "no plain file", 0, 1},
	{"text is a folder", "rm $V.lua && mkdir $V.lua", "no plain file", 0, 1},
	{"text for all", "chmod 666 $V.lua", ".lua can be written by others", 0, 1},
	{"history is a link", "mv history.jsonl x && ln -s x history.jsonl",
	 "history.jsonl is a link", 1, 0},
	{"pending is a link", "ln -s history.jsonl .history.next",
	 ".history.next is a link", 1, 0},
	{"leftovers",
	 "touch .new-history.jsonl; ln -s /etc/passwd .new-active; mkfifo .new-x", "", 1,
	 1},
};

static const struct {
	const char *name, *command, *says;
	char can_read, can_put;
} owner_tricks[] = {
	{"folder of another", "chown 65534 .", "belongs to uid 65534", 0, 0},
	{"active of another", "chown -h 65534 active", "active belongs to uid 65534", 0,
	 0},
	{"text of another", "chown 65534 $V.lua", ".lua belongs to uid 65534", 0, 1},
};

static void play_trick(const char *name, const char *command, const char *says,
		       bool can_read, bool can_put)
{
	char version[NEAP_VERSION_SIZE], *text = NULL;
	struct neap_error err;
	size_t len;
	int rc;

	versions_run("rm -rf %s && mkdir %s && echo secret > %s/outside.lua",
		     versions_base, versions_base, versions_base);
	versions_play("+A +B");
	(void)versions_text('B', version);
	versions_run("cd %s && V=%s && { %s; }", versions_folder, version, command);
	rc = neap_versions_read(versions_dir, &versions_id, "", &text, &len, NULL, &err);
	if ((rc == 0) != can_read || (rc < 0 && !strstr(err.msg, says)))
		fail_msg("%s: read gave %d: %s", name, rc, rc < 0 ? err.msg : text);
	free(text);
	rc = versions_put("put", 'C', &err);
	if ((rc == 0) != can_put || (rc < 0 && !strstr(err.msg, says)))
		fail_msg("%s: put gave %d: %s", name, rc, rc < 0 ? err.msg : "");
	if (rc == 0)
		assert_int_equal(versions_active(), 'C');
	versions_run("test \"$(cat %s/outside.lua)\" = secret", versions_base);
}

static void test_tricks(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(tricks); i++)
		play_trick(tricks[i].name, tricks[i].command, tricks[i].says,
			   tricks[i].can_read, tricks[i].can_put);
	if (geteuid() != 0) {
		print_message("# skip: needs root: files of another owner\n");
		skip();
	}
	for (i = 0; i < NEAP_ARRAY_LEN(owner_tricks); i++)
		play_trick(owner_tricks[i].name, owner_tricks[i].command,
			   owner_tricks[i].says, owner_tricks[i].can_read,
			   owner_tricks[i].can_put);
}

static void test_names(void **state)
{
	static const struct neap_policy_id bad[] = {
		{"", "one"},         {"qos", ""},           {"..", "one"},
		{"qos", ".."},       {"qos", "a/b"},        {"qos", "../x"},
		{"Qos", "one"},      {"qos", "one "},       {"qos", "o_ne"},
		{"qos", "\xc3\xa9"}, {"qos", "active.lua"}, {"q\ns", "one"},
	};
	struct neap_history_line line = {.verb = "put"};
	struct neap_policy_id full;
	char version[NEAP_VERSION_SIZE];
	const char *text = versions_text('A', version);
	struct neap_error err;
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(bad); i++) {
		if (neap_versions_put(versions_dir, &bad[i], version, text, strlen(text),
				      &line, &err) != -NEAP_EINVAL)
			fail_msg("row %zu: %s", i, bad[i].name);
	}
	memset(&full, 'a', sizeof(full)); /* no NUL */
	assert_int_equal(neap_versions_note(versions_dir, &full, &line, &err),
			 -NEAP_EINVAL);
}

/* --- the walk --- */

static void on_found(void *arg, const struct neap_policy_id *found, bool has_active)
{
	char one[80];

	snprintf(one, sizeof(one), "%s/%s%s ", found->kind, found->name,
		 has_active ? "*" : "");
	strncat(arg, one, 400 - strlen(arg));
}

static void on_refused(void *arg, const struct neap_error *err)
{
	const char *at = strstr(err->msg, "policies/");

	assert_non_null(at);
	strncat(arg, "!", 400 - strlen(arg));
	strncat(arg, at + 9, strcspn(at + 9, " "));
	strncat(arg, " ", 400 - strlen(arg));
}

static void test_walk(void **state)
{
	static const char *const put_in[][2] = {
		{"score", "b"}, {"qos", "z"}, {"qos", "a-2"}, {"filter", "x"}};
	struct neap_history_line line = {.verb = "put"};
	char seen[500] = "", version[NEAP_VERSION_SIZE];
	const char *text = versions_text('A', version);
	struct neap_policy_id one;
	struct neap_error err;
	json_t *params = json_object();
	size_t i;

	(void)state;
	versions_run("rm -rf %s", versions_dir);
	assert_int_equal(
		neap_versions_walk(versions_dir, on_found, on_refused, seen, &err), 0);
	assert_string_equal(seen, "");
	for (i = 0; i < NEAP_ARRAY_LEN(put_in); i++) {
		snprintf(one.kind, sizeof(one.kind), "%s", put_in[i][0]);
		snprintf(one.name, sizeof(one.name), "%s", put_in[i][1]);
		assert_int_equal(neap_versions_put(versions_dir, &one, version, text,
						   strlen(text), &line, &err),
				 0);
	}
	assert_int_equal(
		neap_versions_save_params(versions_dir, &versions_id, params, NULL, &err),
		0);
	json_decref(params);
	versions_run(
		"mkdir %s/qos/empty %s/qos/Bad; chmod 777 %s/filter/x; touch %s/file; ln -s qos %s/zlink",
		versions_dir, versions_dir, versions_dir, versions_dir, versions_dir);
	assert_int_equal(
		neap_versions_walk(versions_dir, on_found, on_refused, seen, &err), 0);
	assert_string_equal(seen,
			    "!file !filter/x !qos/Bad qos/a-2* qos/one qos/z* score/b* "
			    "!zlink ");
	versions_run("chmod 777 %s", versions_dir);
	assert_int_equal(
		neap_versions_walk(versions_dir, on_found, on_refused, seen, &err),
		-NEAP_EFORBIDDEN);
	versions_run("chmod 700 %s", versions_dir);
}

/* --- as the daemon's user, and beside another process --- */

static void as_nobody(void (*act)(void))
{
	int status;
	pid_t child;

	if (geteuid() != 0) {
		print_message("# skip: needs root: to become another user\n");
		skip();
	}
	fflush(stdout);
	child = fork();
	if (child == 0) {
		if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
			_exit(2);
		act();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("as nobody: status %x", (unsigned)status);
}

static void act_own(void)
{
	struct neap_error err;

	if (versions_put("put", 'A', &err) < 0 || versions_put("put", 'B', &err) < 0 ||
	    versions_active() != 'B')
		_exit(3);
	/* A directory that says no. */
	if (chmod(versions_folder, 0500) < 0)
		_exit(4);
	if (versions_put("put", 'C', &err) != -NEAP_ESYS || err.errnum != EACCES ||
	    !strstr(err.msg, versions_folder) || versions_active() != 'B')
		_exit(5);
	if (chmod(versions_folder, 0700) < 0)
		_exit(6);
}

static void act_roots(void)
{
	struct neap_error err;

	/* What root put there is trusted, but it cannot be changed. */
	if (versions_active() != 'D')
		_exit(3);
	if (versions_put("put", 'C', &err) != -NEAP_ESYS || err.errnum != EACCES)
		_exit(4);
}

static void test_ordinary_user(void **state)
{
	(void)state;
	versions_run("rm -rf %s && mkdir -m 755 %s && mkdir -m 700 %s", versions_base,
		     versions_base, versions_dir);
	if (geteuid() == 0)
		versions_run("chown %d %s", NOBODY, versions_dir);
	as_nobody(act_own);
	versions_run("rm -rf %s", versions_dir);
	versions_play("+D");
	versions_run("chmod -R a+rX %s", versions_dir);
	as_nobody(act_roots);
}

static void test_two_writers(void **state)
{
	struct neap_error err;
	int fd;

	(void)state;
	versions_run("rm -rf %s", versions_dir);
	versions_play("+A");
	fd = open(versions_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(versions_put("put", 'B', &err), -NEAP_EUNAVAILABLE);
	assert_int_equal(versions_active(), 'A');
	close(fd);
	versions_play("+B");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tricks),      cmocka_unit_test(test_names),
		cmocka_unit_test(test_walk),        cmocka_unit_test(test_ordinary_user),
		cmocka_unit_test(test_two_writers),
	};

	patience_with_scripts();
	return cmocka_run_group_tests(tests, versions_setup, versions_teardown);
}
