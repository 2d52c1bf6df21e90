/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads and writes small JSON files. */
#include "api/run/json_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/buf.h"
#include "engine/base/file.h"
#include "engine/json/json.h"

int neap_json_file_read(const char *path, json_t **ret, struct neap_error *err)
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

int neap_json_file_write(const char *path, const json_t *json, struct neap_error *err)
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
