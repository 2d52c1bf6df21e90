/* SPDX-License-Identifier: Apache-2.0
 *
 * Encodes an order: a header of numbers, then NUL-terminated texts. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "hw/keeper/wire.h"

#define ORDER_MAGIC    0x4e4b4f31u /* NKO1 */
#define FILES_MAX      1000
#define OPEN_FILES_MAX (1024 * 1024)

struct order_head {
	uint32_t magic, attempt;
	uint32_t argc, envc;
	uint32_t has_cwd;
	int32_t log_files_max;
	int64_t open_files_max, log_bytes_max, probe_usec;
};

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_pod_uid(const char *text)
{
	size_t i;

	for (i = 0; text[i]; i++)
		if (!is_alnum(text[i]) &&
		    (i == 0 || (text[i] != '-' && text[i] != '.' && text[i] != '_')))
			return false;
	return i > 0 && i < NEAP_KEEPER_UID_MAX;
}

static bool is_label(const char *text)
{
	size_t i;

	for (i = 0; text[i]; i++)
		if ((!is_alnum(text[i]) && text[i] != '-') ||
		    (text[i] >= 'A' && text[i] <= 'Z'))
			return false;
	return i > 0 && i < NEAP_KEEPER_NAME_MAX && text[0] != '-' && text[i - 1] != '-';
}

int neap_keeper_names_check(const char *pod_uid, const char *container, unsigned attempt,
			    struct neap_error *err)
{
	if (!pod_uid || !is_pod_uid(pod_uid))
		return neap_error_field(err, NEAP_EINVAL, "pod_uid",
					"'%.64s' is not the uid of a pod",
					pod_uid ? pod_uid : "");
	if (!container || !is_label(container))
		return neap_error_field(err, NEAP_EINVAL, "container",
					"'%.64s' is not the name of a container",
					container ? container : "");
	if (attempt > INT_MAX)
		return neap_error_field(err, NEAP_EINVAL, "attempt", "%u attempts",
					attempt);
	return 0;
}

/* Counts them, and their bytes with each NUL. */
static int list_check(const char *const *list, const char *what, bool is_env,
		      size_t *strings, size_t *bytes, struct neap_error *err)
{
	for (size_t i = 0; list && list[i]; i++) {
		if (++*strings > NEAP_KEEPER_STRINGS)
			return neap_error_field(err, NEAP_EINVAL, what,
						"more than %d arguments and variables",
						NEAP_KEEPER_STRINGS);
		*bytes += strlen(list[i]) + 1;
		if (*bytes > NEAP_KEEPER_TEXT_MAX)
			return neap_error_field(
				err, NEAP_EINVAL, what,
				"more than %d bytes of arguments and environment",
				NEAP_KEEPER_TEXT_MAX);
		if (is_env && (list[i][0] == '=' || !strchr(list[i], '=')))
			return neap_error_field(err, NEAP_EINVAL, what,
						"'%.64s' is not NAME=VALUE", list[i]);
	}
	return 0;
}

int neap_keeper_order_check(const struct neap_keeper_order *order, struct neap_error *err)
{
	size_t strings = 0, bytes = 0;
	int rc = neap_keeper_names_check(order->pod_uid, order->container, order->attempt,
					 err);

	if (rc < 0)
		return rc;
	if (!order->argv || !order->argv[0] || !*order->argv[0])
		return neap_error_field(err, NEAP_EINVAL, "argv", "there is no command");
	rc = list_check(order->argv, "argv", false, &strings, &bytes, err);
	if (rc == 0)
		rc = list_check(order->envp, "envp", true, &strings, &bytes, err);
	if (rc < 0)
		return rc;
	if (order->cwd && (order->cwd[0] != '/' || strlen(order->cwd) >= PATH_MAX))
		return neap_error_field(err, NEAP_EINVAL, "cwd",
					"'%.64s' is not an absolute path", order->cwd);
	if (order->open_files_max < 0 || order->open_files_max > OPEN_FILES_MAX)
		return neap_error_field(err, NEAP_EINVAL, "open_files_max",
					"0 to %d open files", OPEN_FILES_MAX);
	if (order->probe_usec < 0)
		return neap_error_field(err, NEAP_EINVAL, "probe_usec",
					"a negative time");
	if (order->probe_usec == 0 &&
	    (order->log_bytes_max < 1 || order->log_files_max < 1 ||
	     order->log_files_max > FILES_MAX))
		return neap_error_field(err, NEAP_EINVAL, "log_files_max",
					"a log of no bytes, or not of 1 to %d files",
					FILES_MAX);
	return 0;
}

static size_t text_put(unsigned char *to, const char *text)
{
	size_t len = strlen(text) + 1;

	if (to)
		memcpy(to, text, len);
	return len;
}

/* Without `to` only counts. */
static size_t texts_put(const struct neap_keeper_order *order, unsigned char *to,
			struct order_head *head)
{
	size_t at = sizeof(*head);
	size_t i;

#define PUT(text) at += text_put(to ? to + at : NULL, text)
	PUT(order->pod_uid);
	PUT(order->container);
	if (order->cwd)
		PUT(order->cwd);
	for (i = 0; order->argv[i]; i++)
		PUT(order->argv[i]);
	head->argc = (uint32_t)i;
	for (i = 0; order->envp && order->envp[i]; i++)
		PUT(order->envp[i]);
	head->envc = (uint32_t)i;
#undef PUT
	return at;
}

int neap_keeper_order_format(const struct neap_keeper_order *order, unsigned char **ret,
			     size_t *ret_len, struct neap_error *err)
{
	struct order_head head = {
		.magic = ORDER_MAGIC,
		.attempt = order->attempt,
		.has_cwd = order->cwd != NULL,
		.log_files_max = order->log_files_max,
		.open_files_max = order->open_files_max,
		.log_bytes_max = order->log_bytes_max,
		.probe_usec = order->probe_usec,
	};
	unsigned char *bytes;
	size_t len;
	int rc = neap_keeper_order_check(order, err);

	if (rc < 0)
		return rc;
	len = texts_put(order, NULL, &head);
	bytes = neap_alloc(len);
	if (!bytes)
		return neap_error_nomem(err);
	(void)texts_put(order, bytes, &head); /* as many as before */
	memcpy(bytes, &head, sizeof(head));
	*ret = bytes;
	*ret_len = len;
	return 0;
}

/* The next text, NULL when there is none. */
static const char *text_get(const char *bytes, size_t len, size_t *at)
{
	const char *text = bytes + *at;
	const char *end = *at < len ? memchr(text, 0, len - *at) : NULL;

	if (!end)
		return NULL;
	*at += (size_t)(end - text) + 1;
	return text;
}

static bool list_get(const char *bytes, size_t len, size_t *at, const char **list,
		     size_t count)
{
	for (size_t i = 0; i < count; i++) {
		list[i] = text_get(bytes, len, at);
		if (!list[i])
			return false;
	}
	return true;
}

static int parts_get(const char *bytes, size_t len, const struct order_head *head,
		     struct neap_keeper_job *job, struct neap_error *err)
{
	struct neap_keeper_order *order = &job->order;
	size_t at = sizeof(*head);

	order->pod_uid = text_get(bytes, len, &at);
	order->container = text_get(bytes, len, &at);
	if (head->has_cwd)
		order->cwd = text_get(bytes, len, &at);
	if (!order->pod_uid || !order->container || (head->has_cwd && !order->cwd) ||
	    !list_get(bytes, len, &at, job->strings, head->argc) ||
	    !list_get(bytes, len, &at, job->strings + head->argc + 1, head->envc))
		return neap_error_set(err, NEAP_EINVAL, "a text is missing");
	if (at != len)
		return neap_error_set(err, NEAP_EINVAL, "%zu bytes too many", len - at);
	order->argv = job->strings;
	order->envp = job->strings + head->argc + 1;
	return neap_keeper_order_check(order, err);
}

int neap_keeper_order_parse(const void *bytes, size_t len, struct neap_keeper_job *ret,
			    struct neap_error *err)
{
	struct neap_keeper_job job = {0};
	struct order_head head;
	int rc;

	if (len < sizeof(head) || len > NEAP_KEEPER_ORDER)
		return neap_error_set(err, NEAP_EINVAL, "an order of %zu bytes", len);
	memcpy(&head, bytes, sizeof(head));
	if (head.magic != ORDER_MAGIC || head.has_cwd > 1 ||
	    head.argc > NEAP_KEEPER_STRINGS || head.envc > NEAP_KEEPER_STRINGS)
		return neap_error_set(err, NEAP_EINVAL, "not an order");
	job.argc = head.argc;
	job.envc = head.envc;
	job.order.attempt = head.attempt;
	job.order.log_files_max = head.log_files_max;
	job.order.open_files_max = head.open_files_max;
	job.order.log_bytes_max = head.log_bytes_max;
	job.order.probe_usec = head.probe_usec;
	job.strings =
		neap_alloc_array((size_t)head.argc + head.envc + 2, sizeof(*job.strings));
	if (!job.strings)
		return neap_error_nomem(err);
	rc = parts_get(bytes, len, &head, &job, err);
	if (rc < 0) {
		neap_keeper_job_done(&job);
		return rc;
	}
	*ret = job;
	return 0;
}

void neap_keeper_job_done(struct neap_keeper_job *job)
{
	free((void *)job->strings);
	job->strings = NULL;
}
