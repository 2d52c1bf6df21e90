/* SPDX-License-Identifier: Apache-2.0
 *
 * The files that neap-reader reads for the loop, and what both processes may do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/file.h"
#include "t/lib/dialer_rig.h"

/* --- files --- */

static char dir[] = "/tmp/neap-dialer-XXXXXX";

/* The path of a name below the folder of the test. */
static const char *path_of(const char *name)
{
	static char paths[8][128];
	static size_t at;
	char *path = paths[at++ % NEAP_ARRAY_LEN(paths)];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static void file_make(const char *name, const char *text, size_t len, mode_t mode)
{
	neap_auto_fd int fd =
		open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(neap_fd_write(fd, text, len), 0);
	assert_int_equal(fchmod(fd, mode), 0);
}

static int folder_make(void **state)
{
	static const char *const folders[] = {"token", "token/..1", "token/..2", "apart"};

	(void)state;
	(void)memcpy(dir + strlen(dir) - 6, "XXXXXX", 6);
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chmod(dir, 0755), 0);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(folders); i++)
		assert_int_equal(mkdir(path_of(folders[i]), 0755), 0);
	return 0;
}

static int folder_remove(void **state)
{
	char command[64];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command); /* NOLINT: a fixed name of our own */
}

static void link_swap(const char *to, const char *name)
{
	assert_int_equal(symlink(to, path_of("token/..new")), 0);
	assert_int_equal(rename(path_of("token/..new"), path_of(name)), 0);
}

/* Reads files[file]; "" when it worked, else the reason. */
static const char *read_now(struct neap_dialer *dialer, unsigned file)
{
	struct neap_error err = {0};
	int before = got.reads;

	if (neap_dialer_read(dialer, file, file, &err) < 0)
		fail_msg("%s", err.msg);
	assert_true(comes(dialer, got.reads > before || got.ends));
	return got.whys[file];
}

static void files(void **state)
{
	static char big[NEAP_DIALER_FILE_MAX + 1];
	char paths[5][128];
	const char *names[5];
	static const char *const parts[] = {"token/token", "big", "over", "none", "."};
	struct neap_dialer_config config = {.files = names, .file_count = 5};
	struct neap_dialer *dialer;

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		(void)snprintf(paths[i], sizeof(paths[i]), "%s/%s", dir, parts[i]);
		names[i] = paths[i];
	}
	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (char)('a' + i % 23);
	file_make("token/..1/token", "first", 5, 0644);
	file_make("token/..2/token", "second\n", 7, 0644);
	file_make("big", big, sizeof(big) - 1, 0644);
	file_make("over", big, sizeof(big), 0644);
	link_swap("..1", "token/..data");
	assert_int_equal(symlink("..data/token", path_of("token/token")), 0);
	dialer = dialer_start(&config);
	assert_string_equal(read_now(dialer, 0), "");
	assert_string_equal(got.text, "first");
	link_swap("..2", "token/..data");
	assert_string_equal(read_now(dialer, 0), "");
	assert_string_equal(got.text, "second\n");
	assert_string_equal(read_now(dialer, 1), "");
	assert_int_equal(got.len, sizeof(big) - 1);
	assert_memory_equal(got.text, big, sizeof(big) - 1);
	assert_non_null(strstr(read_now(dialer, 2), "over 262144 bytes"));
	assert_non_null(strstr(read_now(dialer, 3), "No such file or directory"));
	assert_non_null(strstr(read_now(dialer, 4), "is no regular file"));
	file_make("none", "", 0, 0644);
	assert_string_equal(read_now(dialer, 3), "");
	assert_string_equal(got.text, "");
	dialer_stop(dialer);
}

/* A link that leads out of the folders is not followed. */
static void out_of_the_folder(void **state)
{
	const char *names[] = {path_of("token/token")};
	struct neap_dialer_config config = {.files = names, .file_count = 1};
	struct neap_dialer *dialer;

	(void)state;
	file_make("token/token", "mine", 4, 0644);
	file_make("apart/other", "secret", 6, 0644);
	dialer = dialer_start(&config);
	assert_string_equal(read_now(dialer, 0), "");
	link_swap("../apart/other", "token/token");
	if (neap_dialer_landlock(dialer) > 0) {
		assert_non_null(strstr(read_now(dialer, 0), "Permission denied"));
		dialer_stop(dialer);
		/* One that leads there from the start is meant so. */
		dialer = dialer_start(&config);
	}
	assert_string_equal(read_now(dialer, 0), "");
	assert_string_equal(got.text, "secret");
	dialer_stop(dialer);
}

/* --- what they may --- */

/* Whether this kernel takes a filter of system calls at all. */
static bool has_filters(void)
{
	int status = 0;
	int pid = fork();

	if (pid == 0)
		_exit(neap_jail_bound(0, NULL) == 0 &&
		      neap_jail_filter(NEAP_JAIL_LOOP, NEAP_JAIL_ON, NULL) == 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

static void jail_check(int pid, unsigned uid)
{
	struct neap_jail_state look = {0};

	assert_int_equal(neap_jail_look(pid, &look, NULL), 0);
	assert_int_equal(look.uid, uid);
	assert_int_equal(look.caps, 0);
	assert_true(look.has_no_new_privs);
	assert_true(look.has_filter == has_filters());
}

/* Whom each of them is, with files that the account may read and with one that it may
 * not. */
static void jails(void **state)
{
	const unsigned other = geteuid() == 0 ? NOBODY : geteuid();
	const struct neap_dialer_server servers[] = {{"127.0.0.1", 1}};
	const char *names[] = {path_of("open"), path_of("closed")};
	struct neap_dialer_config config = {
		.servers = servers, .server_count = 1, .files = names, .file_count = 1};
	struct neap_dialer *dialer;

	(void)state;
	file_make("open", "x", 1, 0644);
	file_make("closed", "only root", 9, 0600);
	dialer = dialer_start(&config);
	jail_check(neap_dialer_pid(dialer), other);
	jail_check(neap_dialer_reader_pid(dialer), other);
	dialer_stop(dialer);

	config.file_count = 2;
	dialer = dialer_start(&config);
	jail_check(neap_dialer_pid(dialer), other);
	jail_check(neap_dialer_reader_pid(dialer), geteuid());
	assert_string_equal(read_now(dialer, 1), "");
	assert_string_equal(got.text, "only root");
	dialer_stop(dialer);
}

/* A loop that was taken over can write what it likes on the sockets. */
static void other_numbers(void **state)
{
	uint16_t port;
	neap_auto_fd int server = listener(4, &port);
	const struct neap_dialer_server servers[] = {{"127.0.0.1", port}};
	const char *names[] = {path_of("token/token")};
	struct neap_dialer_config config = {
		.servers = servers, .server_count = 1, .files = names, .file_count = 1};
	struct neap_dialer *dialer = dialer_start(&config);
	struct neap_error err = {0};

	(void)state;
	assert_int_equal(neap_dialer_connect(dialer, 1, 0, &err), -NEAP_EINVAL);
	assert_int_equal(neap_dialer_read(dialer, 1, 0, &err), -NEAP_EINVAL);
	dialer->ends[NEAP_DIALER_DIALS].count = dialer->ends[NEAP_DIALER_READS].count =
		UINT32_MAX;
	ask(dialer, 1, 1);
	ask(dialer, UINT32_MAX - 1, 2);
	assert_true(comes(dialer, got.answers == 2));
	for (size_t i = 1; i <= 2; i++) {
		assert_int_equal(got.fds[i], -1);
		assert_string_equal(got.whys[i], "dial: no server of this number");
	}
	assert_string_equal(read_now(dialer, 1), "no file of this number");
	assert_int_equal(got.ends, 0);

	/* What is no request at all ends the process that gets it. */
	assert_int_equal(send(dialer->ends[NEAP_DIALER_READS].sock, "rubbish", 7, 0), 7);
	assert_true(comes(dialer, got.ends == 1));
	dialer_stop(dialer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(files, folder_make, folder_remove),
		cmocka_unit_test_setup_teardown(out_of_the_folder, folder_make,
						folder_remove),
		cmocka_unit_test_setup_teardown(jails, folder_make, folder_remove),
		cmocka_unit_test_setup_teardown(other_numbers, folder_make,
						folder_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
