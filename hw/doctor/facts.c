/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads files below a root. */
#include "hw/doctor/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "hw/doctor/facts_priv.h"

bool neap_facts_path(const char *root, const char *path, char *buf, size_t size)
{
	return snprintf(buf, size, "%s%s", root, path) < (int)size;
}

int neap_facts_read(const char *root, const char *path, char *buf, size_t size)
{
	char whole[NEAP_FACTS_PATH * 2];
	neap_auto_fd int fd = -1;
	struct stat st;
	ssize_t len;

	buf[0] = '\0';
	if (!neap_facts_path(root, path, whole, sizeof(whole)))
		return -ENAMETOOLONG;
	/* Opening anything but a regular file might block, and reading it might change
	 * it. */
	fd = open(whole, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	len = neap_fd_read_text(fd, buf, size);
	if (len < 0)
		return -errno;
	while (len > 0 && buf[len - 1] == '\n')
		len--;
	buf[len] = '\0';
	return (int)len;
}

enum neap_known neap_facts_is_there(const char *root, const char *path)
{
	char whole[NEAP_FACTS_PATH * 2];

	if (!neap_facts_path(root, path, whole, sizeof(whole)))
		return NEAP_UNSEEN;
	if (access(whole, F_OK) == 0)
		return NEAP_YES;
	return errno == ENOENT || errno == ENOTDIR ? NEAP_NO : NEAP_UNSEEN;
}

FILE *neap_facts_open(const char *root, const char *path)
{
	char whole[NEAP_FACTS_PATH * 2];

	return neap_facts_path(root, path, whole, sizeof(whole)) ? fopen(whole, "re")
								 : NULL;
}

void neap_facts_add_word(char *text, size_t size, const char *word)
{
	size_t len = strlen(text);

	(void)snprintf(text + len, size - len, "%s%s", len > 0 ? " " : "", word);
}

bool neap_facts_has_word(const char *text, const char *word)
{
	static const char blanks[] = " \t\n,";
	size_t len = strlen(word);

	for (text += strspn(text, blanks); *text; text += strspn(text, blanks)) {
		size_t n = strcspn(text, blanks);

		if (n == len && memcmp(text, word, n) == 0)
			return true;
		text += n;
	}
	return false;
}

int neap_facts_command(const char *root, int pid, char *buf, size_t size)
{
	char path[64];
	int i, len;

	(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	len = neap_facts_read(root, path, buf, size);
	for (i = 0; i + 1 < len; i++)
		if (buf[i] == '\0')
			buf[i] = '\n';
	return len;
}

void neap_facts_option(const char *command, const char *name, char *buf, size_t size)
{
	const size_t len = strlen(name);
	const char *word = command;

	buf[0] = '\0';
	while (word != NULL && *word) {
		const char *next = strchr(word, '\n');

		if (strncmp(word, "--", 2) == 0 && strncmp(word + 2, name, len) == 0) {
			const char *value = NULL;

			if (word[2 + len] == '=')
				value = word + 3 + len;
			else if (word[2 + len] == '\n')
				value = next + 1;
			if (value != NULL)
				(void)snprintf(buf, size, "%.*s",
					       (int)strcspn(value, "\n"), value);
		}
		word = next != NULL ? next + 1 : NULL;
	}
}

void neap_facts_gather(const char *root, struct neap_facts *ret)
{
	memset(ret, 0, sizeof(*ret));
	neap_facts_kernel(root, &ret->kernel);
	neap_facts_cgroup(root, &ret->cgroup);
	neap_facts_agents(root, &ret->agents);
}
