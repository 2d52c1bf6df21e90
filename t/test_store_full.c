/* SPDX-License-Identifier: Apache-2.0
 *
 * A full disk, over HTTP: a file system of 3 MB of the test's own in place of /tmp, in a
 * mount namespace of its own. Writes are refused with 429 and what to do about it, reads
 * and watches go on, and so do writes when there is room again. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/kube_rig.h"

#define BALLAST "/tmp/ballast"

/* Fills the disk but for so many pages. What the rig writes by itself is over before. */
static void fill(struct kube_rig *rig, int pages)
{
	static char page[4096];
	int fd = open(BALLAST, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), i;

	assert_true(fd >= 0);
	while (!kube_is_at_rest(rig))
		continue;
	memset(page, 'x', sizeof(page));
	while (write(fd, page, sizeof(page)) == (ssize_t)sizeof(page))
		continue;
	assert_int_equal(errno, ENOSPC);
	assert_true(lseek(fd, 0, SEEK_END) > 12 * (off_t)sizeof(page));
	for (i = 0; i < pages; i++)
		assert_int_equal(
			ftruncate(fd, lseek(fd, 0, SEEK_END) - (off_t)sizeof(page)), 0);
	(void)close(fd);
}

static int ask_config(struct kube_rig *rig, const char *name, int n, size_t bytes)
{
	char *body = neap_alloc(bytes + 256), ask[128];
	int len, status;

	assert_non_null(body);
	len = snprintf(
		body, bytes + 256,
		"{\"metadata\":{\"name\":\"%s\"},\"data\":{\"n\":\"%d\",\"pad\":\"", name,
		n);
	memset(body + len, 'a', bytes);
	(void)snprintf(body + len + bytes, 8, "\"}}");
	(void)snprintf(ask, sizeof(ask), "%s /api/v1/namespaces/default/configmaps%s%s",
		       n == 0 ? "POST" : "PUT", n == 0 ? "" : "/", n == 0 ? "" : name);
	status = kube_ask_with(rig, ask, "Content-Type: application/json\r\n", body,
			       strlen(body));
	free(body);
	return status;
}

static void wants_refusal(struct kube_rig *rig)
{
	assert_string_equal(kube_text(rig->body, "reason"), "TooManyRequests");
	assert_non_null(strcasestr(rig->head, "\r\nRetry-After: "));
	assert_non_null(strstr(kube_text(rig->body, "message"), "full"));
	assert_null(kube_differs(rig->body, "details.retryAfterSeconds=1"));
}

static void test_full(void **state)
{
	struct kube_rig *rig = *state;
	struct kube_watch watch;
	char name[32], want[64];
	int made = 0, refused, i;

	assert_int_equal(ask_config(rig, "first", 0, 100), 201);
	kube_watch_open(
		rig, &watch,
		"/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=0");
	kube_watch_wants(&watch, "ADDED first");
	for (i = 0; i < 3; i++) {
		int status = 201;

		/* So that it fills in the middle of a group as well as at its
		 * beginning. */
		fill(rig, 6);
		for (refused = 0; refused < 20;) {
			(void)snprintf(name, sizeof(name), "c-%d", made);
			status = ask_config(rig, name, 0, 3000);
			if (status == 201) {
				(void)snprintf(want, sizeof(want), "ADDED %s", name);
				kube_watch_wants(&watch, want);
				made++;
				continue;
			}
			assert_int_equal(status, 429);
			wants_refusal(rig);
			refused++;
			/* Not there, also not half. */
			(void)snprintf(want, sizeof(want),
				       "GET /api/v1/namespaces/default/configmaps/%s",
				       name);
			assert_int_equal(kube_ask(rig, want, NULL), 404);
		}
		assert_int_equal(ask_config(rig, "first", i + 1, 60000), 429);
		assert_int_equal(
			kube_ask(rig, "GET /api/v1/namespaces/default/configmaps", NULL),
			200);
		(void)snprintf(want, sizeof(want), "#items=%d", made + 1);
		assert_null(kube_differs(rig->body, want));
		kube_watch_wants(&watch, "-");
		/* One line for the log, not one for every write. */
		assert_int_equal(rig->store.problems, i + 1);
		assert_int_equal(unlink(BALLAST), 0);
		assert_int_equal(ask_config(rig, "first", i + 1, 100), 200);
		kube_watch_wants(&watch, "MODIFIED first");
		assert_string_equal(rig->store.said, "writes again");
	}
	kube_watch_close(&watch);
}

/* No success as long as something is left. When there is room again all of it goes. */
static void test_full_collection(void **state)
{
	static const char all[] = "/api/v1/namespaces/default/configmaps";
	struct kube_rig *rig = *state;
	char ask[96];

	for (int i = 0; i < 3; i++) {
		(void)snprintf(ask, sizeof(ask), "c-%d", i);
		assert_int_equal(ask_config(rig, ask, 0, 100), 201);
	}
	/* With a page left, a larger write that is refused leaves the log longer, and the
	 * deletions may fit in there. */
	fill(rig, 0);
	assert_int_equal(ask_config(rig, "c-0", 1, 100), 429);
	(void)snprintf(ask, sizeof(ask), "DELETE %s", all);
	assert_int_equal(kube_ask(rig, ask, NULL), 429);
	wants_refusal(rig);
	assert_null(kube_differs(rig->body, "message~3 of 3 configmaps were not deleted, "
					    "of the last one: "));
	assert_int_equal(unlink(BALLAST), 0);
	assert_int_equal(kube_ask(rig, ask, NULL), 200);
	(void)snprintf(ask, sizeof(ask), "GET %s", all);
	assert_int_equal(kube_ask(rig, ask, NULL), 200);
	assert_null(kube_differs(rig->body, "#items=0"));
}

static bool mount_disk(void)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("neap-test", "/tmp", "tmpfs", 0, "size=3m") == 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_full, kube_rig_setup,
						kube_rig_teardown),
		cmocka_unit_test_setup_teardown(test_full_collection, kube_rig_setup,
						kube_rig_teardown),
	};

	if (!mount_disk()) {
		printf("1..0 # SKIP needs root and a mount namespace of its own: %s\n",
		       strerror(errno));
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
