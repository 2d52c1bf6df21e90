/* SPDX-License-Identifier: Apache-2.0 */
#include "api/config/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int neap_text_file_read(const char *file, struct neap_buf *ret, struct neap_error *err)
{
	neap_auto_fd int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char part[8192];
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return neap_error_sys(err, "open %s", file);
	if (!S_ISREG(st.st_mode))
		return neap_error_set(err, NEAP_EINVAL, "%s is no regular file", file);
	while ((n = read(fd, part, sizeof(part))) > 0 && !neap_buf_failed(ret))
		neap_buf_add(ret, part, (size_t)n);
	if (n < 0)
		return neap_error_sys(err, "read %s", file);
	return neap_buf_failed(ret) ? neap_buf_error(ret, file, err) : 0;
}
