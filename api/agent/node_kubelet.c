/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of a kubelet: its configuration, and what its CPU manager gave to pods. Another program's files, so they
 * are read within bounds, and only plain files. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/agent/node_topology.h"
#include "api/kube/crd.h"
#include "engine/base/buf.h"
#include "engine/base/json.h"
#include "engine/base/mem.h"

#define FILE_MAX ((size_t)1 << 20)

/* 1, 0 when there is no such file; -code. */
static int read_file(const char *path, struct neap_buf *to, struct neap_error *err)
{
	neap_auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	char part[4096];
	ssize_t n;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return neap_error_sys(err, "open %s", path);
	if (!S_ISREG(st.st_mode))
		return neap_error_set(err, NEAP_EINVAL, "%s is no plain file", path);
	neap_buf_init(to, FILE_MAX);
	while ((n = read(fd, part, sizeof(part))) > 0 && !neap_buf_failed(to))
		neap_buf_add(to, part, (size_t)n);
	if (n < 0)
		return neap_error_sys(err, "read %s", path);
	return neap_buf_failed(to) ? neap_buf_error(to, path, err) : 1;
}

static int read_state(const char *dir, json_t **ret, struct neap_error *err)
{
	neap_auto_buf struct neap_buf buf = {0};
	json_error_t where;
	char path[512];
	int got;

	(void)snprintf(path, sizeof(path), "%s/cpu_manager_state", dir);
	got = read_file(path, &buf, err);
	if (got <= 0)
		return got;
	got = neap_json_parse(buf.data, buf.len, 0, ret, &where);
	if (got == -NEAP_ENOMEM)
		return neap_error_nomem(err);
	return got < 0 ? neap_error_set(err, NEAP_EINVAL, "%s:%d: no JSON: %s", path,
					where.line, where.text)
		       : 0;
}

static int read_config(const char *dir, json_t **ret, struct neap_error *err)
{
	neap_auto_buf struct neap_buf buf = {0};
	json_t *documents = NULL;
	char path[512];
	int got;

	(void)snprintf(path, sizeof(path), "%s/config.yaml", dir);
	got = read_file(path, &buf, err);
	if (got <= 0)
		return got;
	got = neap_kube_yaml_parse(buf.data, buf.len, path, &documents, err);
	if (got < 0)
		return got;
	*ret = json_incref(json_array_get(documents, 0));
	json_decref(documents);
	return 0;
}

int node_kubelet_read(const char *dir, struct neap_kubelet_facts *ret,
		      struct neap_error *err)
{
	json_t *state = NULL, *config = NULL;
	int failed = 0;

	memset(ret, 0, sizeof(*ret));
	if (dir && dir[0] != '\0')
		failed = read_state(dir, &state, err);
	if (failed == 0 && dir && dir[0] != '\0')
		failed = read_config(dir, &config, err);
	if (failed == 0)
		failed = neap_kubelet_facts_read(state, config, ret, err);
	json_decref(state);
	json_decref(config);
	return failed;
}
