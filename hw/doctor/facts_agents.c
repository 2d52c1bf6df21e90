/* SPDX-License-Identifier: Apache-2.0
 *
 * Other agents on the machine: their processes by name, and their traces in the file
 * system; the kubelet, from its command line and working directory. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "hw/doctor/facts_priv.h"

/* As /proc/PID/comm has them: 15 bytes at most. */
static const char *const comms[] = {
	"kubelet", "koordlet",    "koord-runtime-p", "crane-agent",     "containerd",
	"crio",    "dockerd",     "neapd",           "neap-hand",       "tuned",
	"numad",   "cgrulesengd", "systemd-oomd",    "nri-resource-po",
};

static const char *const sockets[] = {
	"/run/containerd/containerd.sock",
	"/run/k3s/containerd/containerd.sock",
	"/run/crio/crio.sock",
	"/run/docker.sock",
};

static const char *const koordlet_traces[] = {
	"/run/koordlet",
	"/var/run/koordlet",
	"/var/lib/koordlet",
	"/var/log/koordlet",
};

/* The path in the hierarchy of cpu, else of v2, of a text like /proc/PID/cgroup. */
static void group_find(char *text, char *group, size_t size)
{
	char *line, *rest = NULL;

	group[0] = '\0';
	for (line = strtok_r(text, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		char *names = strchr(line, ':');
		char *path = names != NULL ? strchr(names + 1, ':') : NULL;

		if (path == NULL)
			continue;
		*path++ = '\0';
		if (neap_facts_has_word(names + 1, "cpu")) {
			(void)neap_strcopy(group, size, path);
			return;
		}
		if (names[1] == '\0')
			(void)neap_strcopy(group, size, path);
	}
}

static void process_look(const char *root, const char *pid, struct neap_agent_facts *ret)
{
	struct neap_facts_process *process;
	char path[64], comm[32], text[4096];
	size_t i;

	(void)snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);
	if (neap_facts_read(root, path, comm, sizeof(comm)) <= 0)
		return;
	for (i = 0; i < NEAP_ARRAY_LEN(comms) && strcmp(comm, comms[i]) != 0; i++)
		;
	if (i == NEAP_ARRAY_LEN(comms) || ret->process_count == NEAP_FACTS_PROCESSES)
		return;
	process = &ret->processes[ret->process_count++];
	(void)neap_strcopy(process->comm, sizeof(process->comm), comm);
	process->pid = (int)strtol(pid, NULL, 10);
	(void)snprintf(path, sizeof(path), "/proc/%.16s/cgroup", pid);
	if (neap_facts_read(root, path, text, sizeof(text)) > 0)
		group_find(text, process->group, sizeof(process->group));
}

static int by_pid(const void *a, const void *b)
{
	return ((const struct neap_facts_process *)a)->pid -
	       ((const struct neap_facts_process *)b)->pid;
}

static void processes_read(const char *root, struct neap_agent_facts *ret)
{
	char path[NEAP_FACTS_PATH];
	const struct dirent *entry;
	DIR *dir;

	if (!neap_facts_path(root, "/proc", path, sizeof(path)))
		return;
	dir = opendir(path);
	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL)
		if (strspn(entry->d_name, "0123456789") == strlen(entry->d_name))
			process_look(root, entry->d_name, ret);
	(void)closedir(dir);
	qsort(ret->processes, (size_t)ret->process_count, sizeof(ret->processes[0]),
	      by_pid);
}

/* Its own library carries the version in its name: libsystemd-shared-252.so. */
static int version_in(const char *root, const char *folder)
{
	static const char before[] = "libsystemd-shared-";
	char path[NEAP_FACTS_PATH];
	const struct dirent *entry;
	int version = 0;
	DIR *dir;

	if (!neap_facts_path(root, folder, path, sizeof(path)))
		return 0;
	dir = opendir(path);
	if (dir == NULL)
		return 0;
	while (version == 0 && (entry = readdir(dir)) != NULL)
		if (strncmp(entry->d_name, before, sizeof(before) - 1) == 0)
			version =
				(int)strtol(entry->d_name + sizeof(before) - 1, NULL, 10);
	(void)closedir(dir);
	return version;
}

static void systemd_look(const char *root, struct neap_agent_facts *ret)
{
	static const char *const folders[] = {
		"/usr/lib/systemd", "/lib/systemd", "/usr/lib/x86_64-linux-gnu/systemd",
		"/usr/lib/aarch64-linux-gnu/systemd", "/usr/lib64/systemd"};
	char comm[32];

	ret->systemd = neap_facts_is_there(root, "/run/systemd/system");
	if (neap_facts_read(root, "/proc/1/comm", comm, sizeof(comm)) > 0)
		ret->systemd = strcmp(comm, "systemd") == 0 ? NEAP_YES : NEAP_NO;
	if (ret->systemd != NEAP_YES)
		return;
	for (size_t i = 0; ret->systemd_version == 0 && i < NEAP_ARRAY_LEN(folders); i++)
		ret->systemd_version = version_in(root, folders[i]);
}

void neap_facts_agents(const char *root, struct neap_agent_facts *ret)
{
	static const char kubelet[] = "/var/lib/kubelet";

	processes_read(root, ret);
	systemd_look(root, ret);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(sockets); i++)
		if (neap_facts_is_there(root, sockets[i]) == NEAP_YES)
			neap_facts_add_word(ret->runtimes, sizeof(ret->runtimes),
					    sockets[i]);
	if (neap_facts_is_there(root, kubelet) == NEAP_YES)
		(void)neap_strcopy(ret->kubelet_dir, sizeof(ret->kubelet_dir), kubelet);
	for (size_t i = 0; !ret->koordlet[0] && i < NEAP_ARRAY_LEN(koordlet_traces); i++)
		if (neap_facts_is_there(root, koordlet_traces[i]) == NEAP_YES)
			(void)neap_strcopy(ret->koordlet, sizeof(ret->koordlet),
					   koordlet_traces[i]);
}

/* --- the kubelet --- */

static const char usual_dir[] = "/var/lib/kubelet";

/* Resolves a path given to a process, relative to its working directory. False: that
 * directory cannot be seen. */
static bool path_resolve(const char *root, int pid, const char *path, char *buf,
			 size_t size)
{
	char link[NEAP_FACTS_PATH], name[64], cwd[NEAP_FACTS_PATH];
	ssize_t n;

	if (path[0] == '/')
		return neap_strcopy(buf, size, path);
	(void)snprintf(name, sizeof(name), "/proc/%d/cwd", pid);
	if (!neap_facts_path(root, name, link, sizeof(link)))
		return false;
	n = readlink(link, cwd, sizeof(cwd) - 1);
	if (n <= 0)
		return false;
	cwd[n] = '\0';
	return snprintf(buf, size, "%s/%s", strcmp(cwd, "/") == 0 ? "" : cwd, path) <
	       (int)size;
}

void neap_facts_kubelet(const char *root, const struct neap_agent_facts *facts,
			struct neap_kubelet_process *ret)
{
	const struct neap_facts_process *process = NULL;
	char given[NEAP_FACTS_PATH];

	memset(ret, 0, sizeof(*ret));
	(void)neap_strcopy(ret->dir, sizeof(ret->dir), usual_dir);
	for (int i = 0; i < facts->process_count && process == NULL; i++)
		if (strcmp(facts->processes[i].comm, "kubelet") == 0)
			process = &facts->processes[i];
	if (process == NULL)
		return;
	ret->pid = process->pid;
	(void)neap_strcopy(ret->group, sizeof(ret->group), process->group);
	if (neap_facts_command(root, ret->pid, ret->command, sizeof(ret->command)) <= 0)
		return;
	neap_facts_option(ret->command, "root-dir", given, sizeof(given));
	if (given[0] != '\0' &&
	    !path_resolve(root, ret->pid, given, ret->dir, sizeof(ret->dir)))
		(void)neap_strcopy(ret->dir, sizeof(ret->dir), usual_dir);
	neap_facts_option(ret->command, "config", ret->file, sizeof(ret->file));
	if (ret->file[0] != '\0' && ret->file[0] != '/') {
		(void)neap_strcopy(given, sizeof(given), ret->file);
		ret->is_file_unseen = !path_resolve(root, ret->pid, given, ret->file,
						    sizeof(ret->file));
	}
}

void neap_facts_kubelet_find(const char *root, struct neap_kubelet_process *ret)
{
	struct neap_agent_facts facts = {0};

	processes_read(root, &facts);
	neap_facts_kubelet(root, &facts, ret);
}
