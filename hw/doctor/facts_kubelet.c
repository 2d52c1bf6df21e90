/* SPDX-License-Identifier: Apache-2.0
 *
 * The kubelet, from its command line and working directory. */
#include <string.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "hw/doctor/facts_priv.h"

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

	neap_facts_processes(root, &facts);
	neap_facts_kubelet(root, &facts, ret);
}
