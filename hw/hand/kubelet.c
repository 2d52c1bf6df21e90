/* SPDX-License-Identifier: Apache-2.0
 *
 * The group of a kubelet that appears after neapd, and kubelet files that only root may
 * read. The directory is fixed at the fork and the names come from a table, so no path is
 * sent over the wire. The loop receives a descriptor, closes it after reading, and asks
 * again for a renamed file. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "hw/hand/hand_priv.h"
#include "hw/scan.h"

const char *const neap_kubelet_file_names[NEAP_KUBELET_FILES] = {
	[NEAP_KUBELET_STATE] = "cpu_manager_state",
	[NEAP_KUBELET_CONFIG] = "config.yaml",
};

static void folder_open(struct neap_hand_server *server)
{
	const char *dir = server->config.kubelet_dir;

	if (dir[0] != '\0' && server->kubelet_fd < 0)
		server->kubelet_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void neap_hand_kubelet_find(struct neap_hand_server *server)
{
	char above[sizeof(server->config.kubelet_dir)];
	char *slash;

	folder_open(server);
	if (server->kubelet_fd >= 0 || server->config.kubelet_dir[0] == '\0')
		return;
	/* A kubelet installed later creates it, and Landlock cannot allow further paths
	 * then. */
	(void)neap_strcopy(above, sizeof(above), server->config.kubelet_dir);
	while (server->kubelet_place_fd < 0 && (slash = strrchr(above, '/')) != NULL &&
	       slash != above) {
		*slash = '\0';
		server->kubelet_place_fd = open(above, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
}

void neap_hand_kubelet_group(struct neap_hand_server *server,
			     struct neap_hand_answer *answer)
{
	struct neap_hand_config *config = &server->config;
	struct neap_tree tree;

	if (!config->finds_kubelet) {
		neap_hand_refuse(server, answer, EPERM,
				 "the kubelet's group was settled when neapd started");
		return;
	}
	if (config->root_count == NEAP_HAND_ROOTS_MAX ||
	    !neap_scan_find_kubelet(config->cgroup, &tree)) {
		neap_hand_refuse(server, answer, ENOENT, "no group of a kubelet");
		return;
	}
	config->finds_kubelet = false;
	(void)neap_strcopy(config->roots[config->root_count], NEAP_PATH_MAX, tree.root);
	answer->new_value = config->roots[config->root_count++];
}

static const char *known(const char *text)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(neap_kubelet_file_names); i++)
		if (strcmp(neap_kubelet_file_names[i], text) == 0)
			return neap_kubelet_file_names[i];
	return NULL;
}

/* 0 or an errno. Neither a link nor what blocks or answers (a pipe, a device) is opened
 * for the loop. */
static int file_open(int dir, const char *name, int *ret)
{
	neap_auto_fd int fd = openat(
		dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return errno;
	if (!S_ISREG(st.st_mode))
		return EINVAL;
	if (st.st_size > NEAP_KUBELET_FILE_MAX)
		return EFBIG;
	*ret = fd;
	fd = -1;
	return 0;
}

int neap_hand_kubelet_file(struct neap_hand_server *server, enum neap_kubelet_file file)
{
	int fd = -1;

	folder_open(server);
	if (server->kubelet_fd >= 0)
		(void)file_open(server->kubelet_fd, neap_kubelet_file_names[file], &fd);
	return fd;
}

void neap_hand_kubelet_open(struct neap_hand_server *server,
			    const struct neap_hand_request *request,
			    struct neap_hand_answer *answer)
{
	const char *name = known(request->value);
	int rc;

	if (!name) {
		neap_hand_refuse(server, answer, EPERM,
				 "'%.40s' is none of the kubelet's files that are known",
				 request->value);
		return;
	}
	folder_open(server);
	if (server->kubelet_fd < 0) {
		neap_hand_refuse(server, answer,
				 server->config.kubelet_dir[0] ? ENOENT : ENOTDIR,
				 "the kubelet's folder is not there");
		return;
	}
	rc = file_open(server->kubelet_fd, name, &answer->fd);
	if (rc)
		neap_hand_refuse(server, answer, rc, "%s: %s", name,
				 rc == EINVAL ? "no plain file" : strerror(rc));
}
