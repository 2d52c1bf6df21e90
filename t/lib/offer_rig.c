/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/offer_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"

static void out_of_service(void *arg, const char *kind, const char *name, const char *why)
{
	struct offer_rig *rig = arg;

	assert_string_equal(kind, "reservation");
	assert_true(*name && *why);
	rig->out_of_service++;
}

static void failed(void *arg, const struct neap_pod *pod, const char *label,
		   const char *why)
{
	struct offer_rig *rig = arg;

	assert_ptr_equal(pod, rig->pod);
	(void)snprintf(rig->last_failed, sizeof(rig->last_failed), "%s: %s", label, why);
	rig->failed++;
}

struct offer_rig *offer_new(void)
{
	/* A descriptor that takes nothing: what is logged is of no interest here. */
	static const struct neap_log log = {.fd = -1, .program = "test"};
	struct offer_rig *rig = neap_alloc(sizeof(*rig));
	struct neap_policies_reserve_config config = {.log = &log,
						      .out_of_service = out_of_service,
						      .failed = failed,
						      .arg = rig};
	struct neap_error err;

	assert_non_null(rig);
	rig->resources = neap_resources_new();
	rig->registry = neap_registry_new();
	config.registry = rig->registry;
	config.purse = &rig->purse;
	config.decisions = rig->decisions = neap_decisions_new(0, 0);
	assert_non_null(rig->decisions);
	rig->policies = neap_policies_reserve_new(&config);
	assert_non_null(rig->policies);
	rig->matcher = neap_policies_reserve_matcher(rig->policies);
	assert_int_equal(
		neap_object_new_take(offer_json("{'metadata':{'name':'n1','uid':'n1',"
						"'labels':{'zone':'z1'}},'status':{}}"),
				     NULL, 1, &rig->node, &err),
		0);
	return rig;
}

void offer_free(struct offer_rig *rig)
{
	neap_policies_reserve_free(rig->policies);
	neap_decisions_free(rig->decisions);
	neap_registry_free(rig->registry);
	(void)neap_pod_unref(rig->pod);
	(void)neap_object_unref(rig->node);
	neap_resources_free(rig->resources);
	free(rig);
}

void offer_put(struct offer_rig *rig, const char *name, int order, const char *body)
{
	char text[4096];
	struct neap_policy *policy = NULL;
	struct neap_error err = {0};

	(void)snprintf(text, sizeof(text),
		       "return { api = 1, kind = 'reservation', name = '%s', %s }", name,
		       body);
	if (neap_policy_load(text, strlen(text), "p.lua", &policy, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	assert_int_equal(neap_registry_put_take(rig->registry, policy, order, 0, &err),
			 0);
}

void offer_put_file(struct offer_rig *rig, const char *file)
{
	struct neap_policy *policy = NULL;
	struct neap_error err = {0};

	if (neap_policy_load_file(file, &policy, &err) < 0)
		fail_msg("%s: %s", file, err.msg);
	assert_int_equal(neap_registry_put_take(rig->registry, policy, 0, 0, &err), 0);
}

struct neap_registry_slot *offer_slot(struct offer_rig *rig, const char *name)
{
	return neap_registry_find(rig->registry, "reservation", name);
}

json_t *offer_json(const char *text)
{
	neap_auto_free char *copy = neap_strdup(text);
	json_error_t where;
	json_t *json;

	for (char *c = copy; *c; c++)
		*c = (char)(*c == '\'' ? '"' : *c);
	json = json_loads(copy, 0, &where);
	if (!json)
		fail_msg("%s in %s", where.text, text);
	return json;
}

static struct neap_object *object_of(json_t *metadata, const char *name, json_t *spec,
				     json_t *status)
{
	static const char *const fields[] = {"spec.nodeName", NULL};
	struct neap_object *object = NULL;
	struct neap_error err = {0};

	if (!json_object_get(metadata, "name"))
		(void)json_object_set_new(metadata, "name", json_string(name));
	if (!json_object_get(metadata, "uid"))
		(void)json_object_set_new(metadata, "uid", json_string(name));
	if (neap_object_new_take(json_pack("{s:o, s:o, s:o}", "metadata", metadata,
					   "spec", spec, "status", status),
				 fields, 1, &object, &err) < 0)
		fail_msg("%s: %s", name, err.msg);
	return object;
}

struct neap_pod *offer_pod(struct offer_rig *rig, json_t *metadata, json_t *spec)
{
	struct neap_object *object;
	struct neap_pod *pod = NULL;
	struct neap_error err = {0};

	if (!json_object_get(metadata, "namespace"))
		(void)json_object_set_new(metadata, "namespace", json_string("default"));
	object = object_of(metadata, "pod", spec, json_object());
	if (neap_pod_new(object, rig->resources, &pod, &err) < 0)
		fail_msg("%s", err.msg);
	(void)neap_object_unref(object);
	return pod;
}

struct neap_reserve *offer_reserve(struct offer_rig *rig, json_t *metadata,
				   json_t *owners)
{
	struct neap_object *object = object_of(
		metadata, "r",
		json_pack("{s:{}, s:o, s:b}", "template", "owners", owners,
			  "allocateOnce", 0),
		offer_json(
			"{'phase':'Available','nodeName':'n1','allocatable':{'cpu':'4',"
			"'memory':'8Gi'}}"));
	struct neap_reserve *reserve = NULL;
	struct neap_error err = {0};

	if (neap_reserve_new(object, rig->resources, &reserve, &err) < 0)
		fail_msg("%s", err.msg);
	(void)neap_object_unref(object);
	return reserve;
}

void offer_begin_pod(struct offer_rig *rig, struct neap_pod *pod_taken)
{
	struct neap_pod *before = rig->pod;

	rig->pod = pod_taken;
	neap_purse_fill(&rig->purse);
	rig->matcher->begin(rig->matcher->arg, rig->resources, rig->pod, OFFER_NOW, true,
			    &rig->asked);
	(void)neap_pod_unref(before);
}

void offer_begin(struct offer_rig *rig, const char *metadata)
{
	offer_begin_pod(
		rig,
		offer_pod(rig, offer_json(metadata),
			  offer_json("{'priority':7,'containers':[{'name':'c','image':"
				     "'registry/web:1','resources':{'requests':{'cpu':"
				     "'500m'}}}]}")));
}

static struct neap_reserve_offer
offer_of(const struct offer_rig *rig, const struct neap_reserve *reserve, bool is_owner)
{
	return (struct neap_reserve_offer){reserve, rig->node, is_owner, &rig->allocated,
					   rig->pods};
}

const char *offer_match(struct offer_rig *rig, const struct neap_reserve *reserve,
			bool is_owner)
{
	static char text[400];
	struct neap_reserve_offer offer = offer_of(rig, reserve, is_owner);
	struct neap_reserve_verdict verdict = {0};
	char again[40] = "";

	if (!rig->matcher->match(rig->matcher->arg, &offer, &verdict))
		return "failed";
	assert_true(verdict.is_open || verdict.reason);
	if (verdict.again_usec)
		(void)snprintf(again, sizeof(again), " again %lld",
			       (long long)(verdict.again_usec / 1000000));
	(void)snprintf(text, sizeof(text), "%s%s",
		       verdict.is_open ? "open" : verdict.reason, again);
	return text;
}

static uint64_t faults_of(const struct offer_rig *rig)
{
	uint64_t faults = 0;

	for (size_t i = 0; i < neap_registry_count(rig->registry); i++)
		faults += (uint64_t)neap_registry_get(rig->registry, i)->stats.faults;
	return faults;
}

const char *offer_match_alone(struct offer_rig *rig, const struct neap_reserve *reserve,
			      bool is_owner)
{
	uint64_t faults = faults_of(rig);
	const char *text = "failed";

	for (int i = 0; i < 20 && strcmp(text, "failed") == 0 && faults_of(rig) == faults;
	     i++) {
		neap_purse_fill(&rig->purse);
		rig->matcher->begin(rig->matcher->arg, rig->resources, rig->pod,
				    OFFER_NOW, true, &rig->asked);
		text = offer_match(rig, reserve, is_owner);
	}
	return text;
}

const char *offer_ask(struct offer_rig *rig, const char *metadata)
{
	struct neap_reserve *reserve =
		offer_reserve(rig, offer_json(metadata), json_pack("[{}]"));
	const char *text = offer_match(rig, reserve, true);

	(void)neap_reserve_unref(reserve);
	return text;
}

int offer_rank(struct offer_rig *rig, const struct neap_reserve *reserve)
{
	struct neap_reserve_offer offer = offer_of(rig, reserve, true);

	return rig->matcher->rank(rig->matcher->arg, &offer);
}
