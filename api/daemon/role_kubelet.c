/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/agent/pod/pins.h"
#include "api/daemon/roles.h"
#include "api/remote/kubelet/kubelet.h"
#include "api/remote/link/link.h"
#include "api/remote/link/named_target.h"

int neap_role_kubelet_open(struct neap_role_kubelet *role,
			   const struct neap_process *process, struct neap_error *err)
{
	const struct neap_config *config = &process->config;
	const struct neap_named_server named = {
		.options = {.url = "--kubelet",
			    .ca = "--kubelet-certificate-authority",
			    .cert = "--kubelet-client-certificate",
			    .key = "--kubelet-client-key",
			    .token = "--kubelet-token-file",
			    .insecure = "--kubelet-insecure-tls"},
		.url = config->kubelet,
		.ca_file = config->kubelet_ca,
		.cert_file = config->kubelet_cert,
		.key_file = config->kubelet_key,
		.token_file = config->kubelet_token,
		.is_insecure = config->kubelet_insecure};
	const struct neap_link_config link = {.name = "kubelet",
					      .uid = process->account.uid,
					      .gid = process->account.gid,
					      .jail = config->seccomp,
					      .log = &process->log};
	struct neap_remote_target *target = NULL;

	role->process = process;
	if (*config->kubelet == '\0')
		return 0;
	if (neap_named_target_new(&named, &target, err) < 0)
		return -(int)err->code;
	return neap_link_open(&link, target, &role->link, err);
}

/* --- the start --- */

static void fail(struct neap_role_kubelet *role, const struct neap_error *err)
{
	role->failed(role->arg, err);
}

/* Its pods get the CPUs of their annotations, and the policies know their classes. */
static void filled(void *arg)
{
	struct neap_role_kubelet *role = arg;
	const struct neap_pins_config pins = {
		.base = role->process->base,
		.client = neap_kubelet_client(role->kubelet),
		.node = role->node,
		.node_name = role->process->config.node_name,
		.log = &role->process->log,
	};
	struct neap_error err;

	if (neap_pins_new(&pins, &role->pins, &err) < 0)
		fail(role, &err);
}

static int ready(void *arg, struct neap_error *err)
{
	struct neap_role_kubelet *role = arg;
	const struct neap_kubelet_config kubelet = {
		.base = role->process->base,
		.transport = neap_link_transport(role->link),
		.node_name = role->process->config.node_name,
		.every_usec = role->process->config.kubelet_sync_usec,
		.filled = filled,
		.arg = role,
		.log = &role->process->log,
	};

	return neap_kubelet_new(&kubelet, &role->kubelet, err);
}

static void lost(void *arg)
{
	struct neap_error err;

	(void)neap_error_set(&err, NEAP_EUNAVAILABLE,
			     "the dialer, which connects to the kubelet, has ended");
	fail(arg, &err);
}

int neap_role_kubelet_start(struct neap_role_kubelet *role, struct neap_node *node,
			    void (*failed)(void *arg, const struct neap_error *err),
			    void *arg, struct neap_error *err)
{
	static const struct neap_link_events events = {.ready = ready, .lost = lost};

	if (role->link == NULL || node == NULL)
		return 0;
	role->node = node;
	role->failed = failed;
	role->arg = arg;
	return neap_link_start(role->link, role->process->base, &events, role, err);
}

void neap_role_kubelet_free(struct neap_role_kubelet *role)
{
	neap_pins_end(role->pins);
	neap_kubelet_free(role->kubelet);
	neap_link_free(role->link);
	*role = (struct neap_role_kubelet){0};
}
