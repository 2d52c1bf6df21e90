/* SPDX-License-Identifier: Apache-2.0
 *
 * The directories of pods, as the keeper makes them: DIR/POD_UID/CONTAINER/ATTEMPT, with
 * a few files in each attempt. Links are never followed, and deeper directories stay
 * untouched. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/agent/pod/agent_priv.h"
#include "engine/base/quantity.h"

#define DEPTH 4

static DIR *open_folder(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

	if (fd >= 0 && dir == NULL)
		(void)close(fd);
	return dir;
}

static const char *next_name(DIR *dir)
{
	const struct dirent *entry;

	do
		entry = readdir(dir);
	while (entry != NULL &&
	       (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
	return entry != NULL ? entry->d_name : NULL;
}

/* Opens DIR, DIR/UID or DIR/UID/CONTAINER. */
static DIR *open_path(const char *dir, const char *uid, const char *container)
{
	char path[PATH_MAX];
	int len = snprintf(path, sizeof(path), "%s%s%s%s%s", dir, uid ? "/" : "",
			   uid ? uid : "", container ? "/" : "",
			   container ? container : "");

	return len > 0 && (size_t)len < sizeof(path) ? open_folder(AT_FDCWD, path) : NULL;
}

/* -1: not an attempt. */
static int64_t parse_attempt(const char *name)
{
	int64_t number;

	if (name[0] < '0' || name[0] > '9' || neap_int_parse(name, &number, NULL) < 0 ||
	    number > INT_MAX)
		return -1;
	return number;
}

int agent_folder_newest(const char *dir, const char *uid, const char *container)
{
	DIR *folder = open_path(dir, uid, container);
	int64_t newest = -1;
	const char *name;

	if (folder == NULL)
		return -1;
	while ((name = next_name(folder)) != NULL) {
		int64_t number = parse_attempt(name);

		if (number > newest)
			newest = number;
	}
	(void)closedir(folder);
	return (int)newest;
}

bool agent_folder_has(const char *dir, const char *uid, const char *container,
		      unsigned attempt)
{
	DIR *folder = open_path(dir, uid, container);
	char name[16];
	struct stat st;
	bool is_there;

	if (folder == NULL)
		return false;
	(void)snprintf(name, sizeof(name), "%u", attempt);
	is_there = fstatat(dirfd(folder), name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	(void)closedir(folder);
	return is_there;
}

/* Files that cannot be removed stay. */
static void remove_tree(int at, const char *name, int depth)
{
	DIR *dir;
	const char *inside;

	if (unlinkat(at, name, 0) == 0 || depth == 0)
		return;
	if (errno != EISDIR && errno != EPERM)
		return;
	dir = open_folder(at, name);
	if (dir == NULL)
		return;
	while ((inside = next_name(dir)) != NULL)
		remove_tree(dirfd(dir), inside, depth - 1);
	(void)closedir(dir);
	(void)unlinkat(at, name, AT_REMOVEDIR);
}

bool agent_folder_remove(const char *dir, const char *uid, const char *container,
			 unsigned keep_from)
{
	DIR *folder = open_path(dir, container ? uid : NULL, container);
	const char *name;
	bool is_gone = true;
	struct stat st;

	if (folder == NULL)
		return true;
	if (container == NULL) {
		remove_tree(dirfd(folder), uid, DEPTH);
		is_gone = fstatat(dirfd(folder), uid, &st, AT_SYMLINK_NOFOLLOW) < 0;
	}
	while (container != NULL && (name = next_name(folder)) != NULL) {
		int64_t number = parse_attempt(name);

		if (number >= 0 && number < keep_from)
			remove_tree(dirfd(folder), name, DEPTH - 2);
	}
	(void)closedir(folder);
	return is_gone;
}

void agent_folder_list(const char *dir, const char *uid,
		       bool (*take)(void *arg, const char *name), void *arg)
{
	DIR *folder = open_path(dir, uid, NULL);
	const char *name;

	if (folder == NULL)
		return;
	while ((name = next_name(folder)) != NULL)
		if (!take(arg, name))
			break;
	(void)closedir(folder);
}
