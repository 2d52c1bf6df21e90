/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/log_rig.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/kube/log/log.h"
#include "engine/base/mem.h"

#define LONG_MS 20000

char log_dir[64];
char log_uids[LOG_PODS][64];

static int64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* --- pods and their files --- */

static const struct {
	const char *name, *json;
} pods[] = {
	{"one",
	 "{'metadata':{'name':'one'},'spec':{'containers':[{'name':'main','image':'x'}]}}"},
	{"two",
	 "{'metadata':{'name':'two'},'spec':{'containers':[{'name':'a','image':'x'},"
	 "{'name':'b','image':'x'}],'initContainers':[{'name':'i','image':'x'}]}}"},
	{"new",
	 "{'metadata':{'name':'new'},'spec':{'containers':[{'name':'c','image':'x'}]}}"},
};

/* pod: place in pods. */
void log_file_put(int pod, const char *rest, const char *text, const char *mode)
{
	char path[256];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s/%s", log_dir, log_uids[pod], rest);
	for (char *at = path + strlen(log_dir) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		if (mkdir(path, 0700) < 0)
			assert_int_equal(errno, EEXIST);
		*at = '/';
	}
	file = fopen(path, mode);
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

void log_file_rename(int pod, const char *from, const char *to)
{
	char a[256], b[256];

	(void)snprintf(a, sizeof(a), "%s/%s/%s", log_dir, log_uids[pod], from);
	(void)snprintf(b, sizeof(b), "%s/%s/%s", log_dir, log_uids[pod], to);
	assert_int_equal(rename(a, b), 0);
}

int log_file_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

int log_rig_setup(void **state)
{
	struct neap_error err = {0};
	struct kube_rig *rig;

	assert_int_equal(kube_rig_setup(state), 0);
	rig = *state;
	assert_true(neap_strcopy(log_dir, sizeof(log_dir), "/tmp/neap-kubelog-XXXXXX"));
	assert_non_null(mkdtemp(log_dir));
	for (size_t i = 0; i < NEAP_ARRAY_LEN(pods); i++) {
		assert_int_equal(kube_ask(rig, "POST " PODS, pods[i].json), 201);
		(void)snprintf(log_uids[i], sizeof(log_uids[i]), "%s",
			       kube_text(rig->body, "metadata.uid"));
	}
	if (neap_kube_logs_set(rig->kube, log_dir, &err) < 0)
		fail_msg("%s", err.msg);
	return 0;
}

int log_rig_teardown(void **state)
{
	(void)nftw(log_dir, log_file_remove, 16, FTW_DEPTH | FTW_PHYS);
	return kube_rig_teardown(state);
}

/* --- a client --- */

void log_client_open(struct kube_rig *rig, struct log_client *client, const char *query)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	char ask[512];
	int len = snprintf(ask, sizeof(ask),
			   "GET " PODS "/%s HTTP/1.1\r\nHost: x\r\nAccept: "
			   "text/plain\r\n\r\n",
			   query);

	*client = (struct log_client){.rig = rig};
	neap_buf_init(&client->raw, (size_t)64 << 20);
	neap_buf_init(&client->text, (size_t)64 << 20);
	client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_true(client->fd >= 0);
	assert_true(neap_strcopy(addr.sun_path, sizeof(addr.sun_path), rig->path));
	assert_int_equal(connect(client->fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(send(client->fd, ask, (size_t)len, MSG_NOSIGNAL), len);
}

void log_client_close(struct log_client *client)
{
	close(client->fd);
	neap_buf_done(&client->raw);
	neap_buf_done(&client->text);
}

static void unchunk(struct log_client *client)
{
	const char *head = client->raw.data;

	if (!client->raw_at) {
		const char *end = strstr(head, "\r\n\r\n");

		if (!end)
			return;
		assert_int_equal(sscanf(head, "HTTP/1.1 %d", &client->status), 1);
		client->raw_at = (size_t)(end + 4 - head);
	}
	while (client->status == 200 && !client->is_ended) {
		const char *at = client->raw.data + client->raw_at;
		const char *line = strstr(at, "\r\n");
		size_t size = line ? strtoul(at, NULL, 16) : 0;

		if (!line ||
		    client->raw.len < (size_t)(line + 4 - client->raw.data) + size)
			return;
		neap_buf_add(&client->text, line + 2, size);
		client->raw_at = (size_t)(line + 4 - client->raw.data) + size;
		client->is_ended = size == 0;
	}
}

/* One turn of the loop, and what came until then. */
static void client_turn(struct log_client *client)
{
	char piece[65536];
	ssize_t n;

	kube_run(client->rig, 1);
	n = recv(client->fd, piece, sizeof(piece), 0);
	if (n > 0) {
		neap_buf_add(&client->raw, piece, (size_t)n);
		assert_false(neap_buf_failed(&client->raw));
		unchunk(client);
	}
	if (n == 0 || (n < 0 && errno != EAGAIN))
		client->is_cut = true;
}

void log_client_until_end(struct log_client *client, const char *name)
{
	int64_t end = now_ms() + LONG_MS;

	while (!client->is_ended && !client->is_cut && now_ms() < end)
		client_turn(client);
	if (!client->is_ended)
		fail_msg("%s: no end after '%s'", name, client->text.data);
}

void log_client_until(struct log_client *client, const char *want)
{
	int64_t end = now_ms() + LONG_MS;

	while (client->text.len < strlen(want) && now_ms() < end)
		client_turn(client);
	assert_string_equal(client->text.data, want);
}
