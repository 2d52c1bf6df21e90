/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/remote_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/log/log.h"
#include "t/lib/patience.h"

static const struct neap_log quiet = {
	.fd = STDERR_FILENO, .level = NEAP_LOG_ERROR, .program = "remote"};

const struct neap_remote_resource remote_rig_resources[] = {
	{.resource = "nodes"},
	{.resource = "namespaces"},
	{.resource = "poddisruptionbudgets.policy"},
	{.resource = "nodemetrics.slo.koordinator.sh"},
	{.resource = "noderesourcetopologies.topology.node.k8s.io"},
	{.resource = "persistentvolumes"},
	{.resource = "persistentvolumeclaims"},
	{.resource = "storageclasses.storage.k8s.io"},
	{.resource = "reservations.scheduling.koordinator.sh"},
	{.resource = "pods"},
};
const size_t remote_rig_reresource_count = NEAP_ARRAY_LEN(remote_rig_resources);

static void filled(void *arg)
{
	(void)arg;
}

void remote_rig_start(struct remote_rig *remote, struct kube_rig *rig, const char *url)
{
	char own[64];
	struct neap_error err = {0};
	struct neap_transport_config transport = {
		.base = rig->base, .url = url ? url : own, .log = &quiet};
	const struct neap_transport_keys keys = {.token = "secret"};
	struct neap_remote_config config = {.base = rig->base,
					    .resources = remote_rig_resources,
					    .resource_count = remote_rig_reresource_count,
					    .manager = "neap-scheduler",
					    .filled = filled,
					    .log = &quiet};

	(void)snprintf(own, sizeof(own), "http://127.0.0.1:%d", rig->port);
	remote->rig = rig;
	assert_int_equal(neap_transport_setup(&err), 0);
	assert_int_equal(neap_transport_new(&transport, &remote->transport, &err), 0);
	assert_int_equal(neap_transport_set_keys(remote->transport, &keys, &err), 0);
	config.transport = remote->transport;
	assert_int_equal(neap_remote_new(&config, &remote->remote, &err), 0);
	remote->client = neap_remote_client(remote->remote);
	assert_true(comes_true_in(rig->base, neap_remote_is_filled(remote->remote)));
}

void remote_rig_stop(struct remote_rig *remote)
{
	neap_remote_free(remote->remote);
	neap_transport_free(remote->transport);
	*remote = (struct remote_rig){0};
}

/* --- sameness --- */

struct pile {
	struct neap_client *other;
	const char *resource;
	size_t count, alike;
};

static bool compare(void *arg, struct neap_object *object)
{
	struct pile *pile = arg;
	struct neap_object *same =
		neap_client_find(pile->other, pile->resource, object->ns, object->name);
	json_t *a = neap_object_tree(object), *b = same ? neap_object_tree(same) : NULL;

	/* The client keeps none. */
	(void)json_object_del(json_object_get(a, "metadata"), "managedFields");
	pile->count++;
	pile->alike += b && json_equal(a, b);
	json_decref(a);
	json_decref(b);
	return true;
}

static bool is_same(struct remote_rig *remote, const char *resource)
{
	struct pile pile = {.other = remote->client, .resource = resource};
	struct neap_client_place place = {0};
	struct neap_error err;

	assert_int_equal(neap_client_list(remote->rig->client, resource, NULL, &place,
					  compare, &pile, &err),
			 0);
	return pile.count == pile.alike &&
	       pile.count == neap_client_count(remote->client, resource);
}

void remote_rig_wait_same(struct remote_rig *remote, const char *resource)
{
	if (!comes_true_in(remote->rig->base, is_same(remote, resource)))
		fail_msg("%s: the client has %zu, and not what the server has", resource,
			 neap_client_count(remote->client, resource));
}

/* --- writes --- */

void remote_rig_told(void *arg, struct neap_object *object,
		     const struct neap_client_failure *failure)
{
	struct remote_rig_told *told = arg;

	assert_false(told->is_told);
	told->is_told = true;
	assert_true((object == NULL) != (failure == NULL));
	if (object != NULL) {
		told->object = neap_object_ref(object);
		return;
	}
	told->reason = failure->reason;
	told->is_unknown = failure->is_unknown;
	told->code = failure->code;
	(void)neap_strcopy(told->message, sizeof(told->message), failure->message);
	(void)neap_strcopy(told->part, sizeof(told->part),
			   failure->part ? failure->part : "");
}

const char *remote_rig_answer(struct remote_rig *remote, struct remote_rig_told *told)
{
	assert_true(comes_true_in(remote->rig->base, told->is_told));
	return told->message;
}
