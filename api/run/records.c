/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of running workloads, from which a later neapd learns their requests: one small
 * file each, RECORD_DIR/ID.json. A run's record is the client's input, a pod's is an
 * object with a member "pod". */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/run/pods_priv.h"
#include "engine/base/buf.h"
#include "engine/base/file.h"
#include "engine/json/json.h"

static int file_read(const char *path, json_t **ret, struct neap_error *err)
{
	neap_auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	neap_auto_buf struct neap_buf buf = {0};
	json_error_t where;
	int rc;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0)
		return neap_error_sys(err, "open %s", path);
	neap_buf_init(&buf, NEAP_BUF_FILE);
	rc = neap_fd_read_rest(fd, path, &buf, err);
	if (rc < 0)
		return rc;
	rc = neap_json_parse(buf.data, buf.len, 0, ret, &where);
	if (rc == -NEAP_ENOMEM)
		return neap_error_nomem(err);
	if (rc < 0)
		return neap_error_set(err, NEAP_EINVAL, "%s:%d: no JSON: %s", path,
				      where.line, where.text);
	return 1;
}

static int file_write(const char *path, const json_t *json, struct neap_error *err)
{
	neap_auto_free char *text = neap_json_dump(json, JSON_COMPACT);
	char fresh[PATH_MAX];

	if (text == NULL)
		return neap_error_nomem(err);
	if (snprintf(fresh, sizeof(fresh), "%s.new", path) >= (int)sizeof(fresh))
		return neap_error_set(err, NEAP_ETOOLARGE, "%s: too long a path", path);
	return neap_file_put(AT_FDCWD, fresh, path, text, strlen(text), NEAP_PUT_PUBLIC,
			     err);
}

#define SUFFIX ".json"

static const struct {
	const char *name;
	size_t offset;
} numbers[] = {
	{"cpu_request_milli", offsetof(struct node_workload, cpu_request_milli)},
	{"cpu_limit_milli", offsetof(struct node_workload, cpu_limit_milli)},
	{"memory_limit_bytes", offsetof(struct node_workload, memory_limit_bytes)},
};

static bool record_path(const struct neap_node *node, const char *id, char *buf,
			size_t size)
{
	if (node->config.record_dir[0] == '\0')
		return false;
	return snprintf(buf, size, "%s/%s" SUFFIX, node->config.record_dir, id) <
	       (int)size;
}

void neap_workload_record(struct neap_node *node, const char *id, const json_t *record)
{
	char path[NEAP_PATH_MAX];
	struct neap_error err;

	if (record_path(node, id, path, sizeof(path)) &&
	    file_write(path, record, &err) < 0)
		neap_log_line(&node->config.log, NEAP_LOG_WARN,
			      "%s; a later neapd will not know the requests of '%s'",
			      err.msg, id);
}

void neap_workload_forget(struct neap_node *node, const char *id)
{
	char path[NEAP_PATH_MAX];

	if (record_path(node, id, path, sizeof(path)))
		(void)unlink(path); /* a missing file is fine */
}

static json_t *record_read(struct neap_node *node, const char *id)
{
	char path[NEAP_PATH_MAX];
	struct neap_error err;
	json_t *record = NULL;

	if (record_path(node, id, path, sizeof(path)) &&
	    file_read(path, &record, &err) < 0)
		neap_log_line(&node->config.log, NEAP_LOG_WARN,
			      "%s; the requests of '%s' are not known", err.msg, id);
	return record;
}

void neap_workload_recall(struct neap_node *node, struct node_workload *workload)
{
	const char *dir = workload->group->dir;
	struct node_pod *pod = neap_pod_of(&node->made, workload);
	json_t *record;

	workload->is_run = pod == NULL && neap_map_find(node->made.launches, dir) != NULL;
	if (pod != NULL) {
		neap_pod_apply(pod, workload);
		return;
	}
	record = record_read(node, workload->id);
	pod = workload->is_run
		      ? NULL
		      : neap_pod_recall(node, workload, json_object_get(record, "pod"));
	if (pod != NULL)
		neap_pod_apply(pod, workload);
	else if (json_object_get(record, "pod") == NULL)
		workload->is_run = workload->is_run || record != NULL;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(numbers) && pod == NULL; i++) {
		json_t *number = json_object_get(record, numbers[i].name);
		int64_t *member = (int64_t *)((char *)workload + numbers[i].offset);

		if (json_is_integer(number))
			*member = json_integer_value(number);
	}
	json_decref(record);
}

static bool is_known(const struct neap_node *node, const char *id)
{
	return neap_map_find(node->made.pods, id) != NULL || neap_launch_has_id(node, id);
}

/* Removes records of pods that ended while no neapd ran, for example at a reboot. */
void neap_workload_sweep(struct neap_node *node)
{
	DIR *dir = node->config.record_dir[0] == '\0' ? NULL
						      : opendir(node->config.record_dir);
	const struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		size_t len = strlen(entry->d_name);
		json_t *record;
		char id[128];

		if (len <= strlen(SUFFIX) || len - strlen(SUFFIX) >= sizeof(id) ||
		    strcmp(entry->d_name + len - strlen(SUFFIX), SUFFIX) != 0)
			continue;
		(void)snprintf(id, sizeof(id), "%.*s", (int)(len - strlen(SUFFIX)),
			       entry->d_name);
		if (is_known(node, id))
			continue;
		record = record_read(node, id);
		if (json_object_get(record, "pod") != NULL)
			neap_workload_forget(node, id);
		json_decref(record);
	}
	if (dir != NULL)
		(void)closedir(dir); /* it was only read */
}
