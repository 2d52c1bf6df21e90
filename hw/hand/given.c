/* SPDX-License-Identifier: Apache-2.0
 *
 * CPUs that a kubelet gave to one container exclusively. The kubelet takes all others off
 * them at that time, but does not repeat it for containers it knows; restoring an older
 * value would put others back on them. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/buf.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/numa/kubelet_facts.h"
#include "hw/hand/hand_priv.h"

/* False: there is no such file, or it is not a kubelet's. */
static bool state_read(struct neap_hand_server *server, json_t **ret)
{
	neap_auto_fd int fd = neap_hand_kubelet_file(server, NEAP_KUBELET_STATE);
	neap_auto_buf struct neap_buf buf = {0};
	json_error_t where;

	neap_buf_init(&buf, NEAP_KUBELET_FILE_MAX);
	return fd >= 0 && neap_fd_read_rest(fd, "state", &buf, NULL) == 0 &&
	       neap_json_parse(buf.data, buf.len, 0, ret, &where) == 0;
}

static void given_read(struct neap_hand_server *server, struct neap_cpuset *ret)
{
	struct neap_kubelet_facts facts;
	json_t *state = NULL;

	neap_cpuset_clear(ret);
	if (!state_read(server, &state))
		return;
	if (neap_kubelet_facts_read(state, NULL, &facts, NULL) == 0) {
		neap_cpuset_copy(ret, &facts.unnamed);
		for (size_t i = 0; i < facts.pod_count; i++)
			neap_cpuset_or(ret, ret, &facts.pods[i].cpus);
	}
	neap_kubelet_facts_done(&facts);
	json_decref(state);
}

/* Whether the group was made by a kubelet, or another program with such groups, for a
 * container. */
static bool is_container(const struct neap_hand_server *server, const char *group)
{
	for (int i = 0; i < server->config.root_count; i++)
		if (neap_path_is_container(server->config.roots[i], group))
			return !neap_hand_own_root(&server->config, group);
	return false;
}

/* Directories of pods and above stay wide, because the kubelet writes below them. */
void neap_hand_given_note(struct neap_hand_server *server)
{
	struct neap_cpuset given, cpus;

	given_read(server, &given);
	for (int i = 0;
	     !neap_cpuset_is_empty(&given) && i < neap_journal_count(server->journal);
	     i++) {
		const struct neap_journal_entry *entry =
			neap_journal_get(server->journal, i);

		if (entry->key != NEAP_KEY_CPUSET_CPUS || !*entry->value ||
		    !is_container(server, entry->group) ||
		    neap_cpuset_parse_kernel(&cpus, entry->value, NULL) < 0 ||
		    !neap_cpuset_intersects(&cpus, &given))
			continue;
		neap_cpuset_minus(&cpus, &cpus, &given);
		/* If nothing else is left, this container is the owner. */
		if (!neap_cpuset_is_empty(&cpus) &&
		    neap_cpuset_format(&cpus, server->scratch, sizeof(server->scratch)) <
			    sizeof(server->scratch))
			neap_journal_reword(server->journal, i, server->scratch);
	}
}
