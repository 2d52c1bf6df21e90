/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests without a client: each is checked as a client's, and told once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/client/client.h"
#include "engine/base/mem.h"
#include "t/lib/kube_rig.h"

#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, kube_rig_setup, kube_rig_teardown)

enum act { CREATE, UPDATE, STATUS, PATCH, PATCH_STATUS, DELETE, EVICT, BIND, BIND_OLD };

/* What was told of the last ask: the object's name and version, or the message. */
struct heard {
	int times;
	bool is_object;
	enum neap_client_reason reason;
	char text[1024];
};

static void told(void *arg, struct neap_object *object,
		 const struct neap_client_failure *failure)
{
	struct heard *heard = arg;

	heard->times++;
	heard->is_object = object != NULL;
	assert_true((object != NULL) != (failure != NULL));
	heard->reason = failure ? failure->reason : NEAP_CLIENT_REASON_COUNT;
	(void)snprintf(heard->text, sizeof(heard->text), "%s",
		       object ? object->text : failure->message);
}

static json_t *parse(const char *text)
{
	neap_auto_free char *copy = neap_strdup(text);
	json_t *json;

	for (char *at = copy; at && *at; at++)
		if (*at == '\'')
			*at = '"';
	json = json_loads(copy, 0, NULL);
	assert_non_null(json);
	return json;
}

static void act(struct neap_client *client, enum act what,
		const struct neap_client_ask *ask, const char *body)
{
	json_t *annotations;

	switch (what) {
	case CREATE:
		neap_client_create_take(client, ask, parse(body));
		break;
	case UPDATE:
	case STATUS:
		neap_client_update_take(client, ask, what == STATUS, parse(body));
		break;
	case PATCH:
	case PATCH_STATUS:
		neap_client_patch_take(client, ask, what == PATCH_STATUS, parse(body));
		break;
	case DELETE:
		neap_client_delete(client, ask, body, -1);
		break;
	case EVICT:
		neap_client_evict(client, ask, NULL, 0);
		break;
	case BIND:
	case BIND_OLD:
		annotations = parse("{'why':'room'}");
		neap_client_bind(client, ask,
				 &(struct neap_client_binding){
					 .node = body,
					 .version = what == BIND_OLD ? "1" : NULL,
					 .annotations = annotations});
		json_decref(annotations);
		break;
	}
}

static const struct row {
	enum act act;
	const char *resource, *name, *body;
	enum neap_client_reason reason; /* REASON_COUNT: it is done */
	const char *part;               /* of the object, or of the message */
} rows[] = {
#define POD(name)                                                                        \
	"{'metadata':{'name':'" name "','labels':{'app':'x'}},'spec':{'containers':["    \
	"{'name':'c','image':'i'}]}}"
#define DONE NEAP_CLIENT_REASON_COUNT
	{CREATE, "pods", NULL, POD("a"), DONE, "\"restartPolicy\":\"Always\""},
	{CREATE, "pods", NULL, POD("a"), NEAP_CLIENT_ALREADY_EXISTS, "already exists"},
	{CREATE, "pods", NULL,
	 "{'metadata':{'generateName':'b-'},'spec':{'containers':"
	 "[{'name':'c','image':'i'}]}}",
	 DONE, "\"name\":\"b-"},
	{CREATE, "pods", NULL, "{'metadata':{'name':'c'},'spec':{}}", NEAP_CLIENT_INVALID,
	 "spec.containers: Required value"},
	{CREATE, "moons", NULL, "{}", NEAP_CLIENT_NOT_FOUND,
	 "no kind is served as moons"},
	{PATCH, "pods", "a", "{'metadata':{'labels':{'y':'z'}}}", DONE, "\"y\":\"z\""},
	{PATCH, "pods", "a", "{'metadata':{'resourceVersion':'1'}}", NEAP_CLIENT_CONFLICT,
	 "the object has been modified"},
	{PATCH, "pods", "a", "{'metadata':{'uid':'other'}}", NEAP_CLIENT_INVALID,
	 "field is immutable"},
	{PATCH, "pods", "none", "{}", NEAP_CLIENT_NOT_FOUND, "pods \"none\" not found"},
	{PATCH, "pods", "a", "{'status':{'phase':'Running'}}", DONE,
	 "\"phase\":\"Pending\""},
	{PATCH_STATUS, "pods", "a", "{'status':{'phase':'Running'}}", DONE,
	 "\"phase\":\"Running\""},
	{STATUS, "pods", "a", POD("a"), DONE, "\"app\":\"x\""},
	{UPDATE, "pods", "none", POD("none"), NEAP_CLIENT_NOT_FOUND, "not found"},
	{BIND_OLD, "pods", "a", "n1", NEAP_CLIENT_CONFLICT,
	 "ResourceVersion in precondition: 1, ResourceVersion in object meta: "},
	{BIND, "pods", "a", "n1", DONE, "\"nodeName\":\"n1\""},
	{BIND, "pods", "a", "n2", NEAP_CLIENT_CONFLICT,
	 "already assigned to node \"n1\""},
	{BIND, "pods", "none", "n2", NEAP_CLIENT_NOT_FOUND, "not found"},
	{DELETE, "pods", "a", "other", NEAP_CLIENT_CONFLICT, "Precondition failed: UID"},
	{DELETE, "pods", "none", NULL, NEAP_CLIENT_NOT_FOUND, "not found"},
	{DELETE, "pods", "a", NULL, DONE, "\"deletionGracePeriodSeconds\":30"},
	{EVICT, "pods", "a", NULL, DONE, "\"why\":\"room\""},
	{EVICT, "pods", "a", NULL, NEAP_CLIENT_NOT_FOUND, "not found"},
	{UPDATE, "leases.coordination.k8s.io", "l", "{'metadata':{'name':'l'}}", DONE,
	 "\"name\":\"l\""},
};

static void test_rows(void **state)
{
	struct kube_rig *rig = *state;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct heard heard = {0};
		const struct neap_client_ask ask = {.resource = rows[i].resource,
						    .ns = "default",
						    .name = rows[i].name,
						    .told = told,
						    .arg = &heard};

		act(rig->client, rows[i].act, &ask, rows[i].body);
		for (int tries = 0; heard.times == 0 && tries < 5000; tries++)
			kube_run(rig, 1);
		if (heard.times != 1 || heard.reason != rows[i].reason ||
		    !strstr(heard.text, rows[i].part))
			fail_msg("row %zu: told %d times, reason %d: %s", i, heard.times,
				 (int)heard.reason, heard.text);
	}
}

/* Nobody is told, and what was asked is done. */
static void test_untold(void **state)
{
	static const struct kube_step there = {
		"GET /api/v1/namespaces/default/pods/a", NULL, 200, {"metadata.name=a"}};
	const struct neap_client_ask ask = {.resource = "pods", .ns = "default"};
	struct kube_rig *rig = *state;

	act(rig->client, CREATE, &ask, POD("a"));
	act(rig->client, CREATE, &ask, POD("a"));
	kube_until(rig, &there);
}

/* A budget counts for what is asked inside, too. */
static void test_budget(void **state)
{
	static const struct kube_step steps[] = {
		{"POST /apis/policy/v1/namespaces/default/poddisruptionbudgets",
		 "{'metadata':{'name':'b'},'spec':{'minAvailable':1,'selector':"
		 "{'matchLabels':{'app':'x'}}}}",
		 201,
		 {NULL}},
		{"POST /api/v1/namespaces/default/pods", POD("a"), 201, {NULL}},
		{"MERGE /api/v1/namespaces/default/pods/a/status",
		 "{'status':{'phase':'Running','conditions':[{'type':'Ready','status':'True'}]}}",
		 200,
		 {NULL}},
	};
	struct heard heard = {0};
	const struct neap_client_ask ask = {.resource = "pods",
					    .ns = "default",
					    .name = "a",
					    .told = told,
					    .arg = &heard};
	struct kube_rig *rig = *state;

	kube_steps(rig, steps, NEAP_ARRAY_LEN(steps));
	act(rig->client, EVICT, &ask, NULL);
	assert_int_equal(heard.times, 1);
	assert_int_equal(heard.reason, NEAP_CLIENT_TOO_MANY_REQUESTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(rows), TEST(untold), TEST(budget)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
