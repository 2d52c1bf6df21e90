/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds that come, change and go while memory fails: a definition is served as it is
 * stored, or it is not stored, and what could not be done at once is done when there is
 * memory again. */
#include <event2/event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/store/write.h"
#include "t/lib/declared_rig.h"
#include "t/torture/torture.h"

#define TRIES 600

static void must(struct kube_rig *rig, const char *what, const char *body)
{
	int status = kube_ask(rig, what, body);

	if (status != 200 && status != 201)
		torture_fail("%s: %d", what, status);
}

static bool is_served(struct kube_rig *rig, const char *path)
{
	char ask[256];

	(void)snprintf(ask, sizeof(ask), "GET %s", path);
	return kube_ask(rig, ask, NULL) == 200;
}

/* The definition as it is stored now, and the kind as it is served. */
static bool fits(struct kube_rig *rig, const char *definition, const char *path)
{
	char ask[256];
	bool is_there;

	(void)snprintf(ask, sizeof(ask), "GET " CRDS "/%s", definition);
	is_there = kube_ask(rig, ask, NULL) == 200;
	if (is_there && kube_at(rig->body, "metadata.deletionTimestamp") != NULL)
		return false; /* on its way */
	if (is_there &&
	    kube_differs(rig->body, "status.conditions~" IS("Established", "True",
							    "InitialNamesAccepted")))
		return false;
	return is_served(rig, path) == is_there;
}

static void check(void *arg, int rc)
{
	struct kube_rig *rig = arg;

	(void)rc;
	for (int i = 0;; i++) {
		if (fits(rig, "widgets.example.com", WIDGETS) &&
		    fits(rig, "gadgets.example.com", GROUP "/gadgets"))
			return;
		if (i == TRIES) {
			char *text;

			(void)kube_ask(rig, "GET " CRDS "/widgets.example.com", NULL);
			text = json_dumps(rig->body, JSON_COMPACT);
			torture_fail(
				"the kinds do not fit what is stored: %d objects, %s",
				(int)neap_store_count(rig->store.store,
						      "widgets.example.com"),
				text ? text : "nothing");
		}
		kube_run(rig, 10);
	}
}

static void *setup(void)
{
	struct kube_rig *rig = kube_rig_start("127.0.0.1:0", NULL);

	must(rig, "POST /api/v1/namespaces", "{'metadata':{'name':'default'}}");
	must(rig, "POST " CRDS, WIDGET);
	check(rig, 0);
	must(rig, "POST " WIDGETS, "{'metadata':{'name':'a'}}");
	return rig;
}

static void teardown(void *state)
{
	(void)kube_rig_teardown(&state);
}

static void run(struct kube_rig *rig, const bool *is_done)
{
	struct pollfd ready = {.fd = neap_store_fd(rig->store.store), .events = POLLIN};

	for (int i = 0, left = 10; i < TRIES && left > 0; i++) {
		(void)event_base_loop(rig->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
		(void)poll(&ready, 1, 2);
		neap_store_hear(rig->store.store);
		left -= is_done == NULL || *is_done;
	}
}

static void note_done(void *arg, struct neap_object *object, const struct neap_error *err)
{
	bool *is_done = arg;

	(void)object;
	(void)err;
	*is_done = true;
}

/* Through the store, as the client would take memory itself. */
static int act(struct kube_rig *rig, struct neap_store_write *write,
	       struct neap_error *err)
{
	static bool is_done;
	int ret;

	is_done = false;
	write->done = note_done;
	write->arg = &is_done;
	ret = write->verb != NEAP_STORE_DELETE && write->object == NULL
		      ? neap_error_nomem(err)
		      : neap_store_write_take(rig->store.store, write, err);
	run(rig, ret == 0 ? &is_done : NULL);
	return ret;
}

static json_t *definition(void)
{
	return json_pack(
		"{s:{s:s, s:s, s:i}, s:{s:s, s:s, s:{s:s, s:s, s:s, s:s}, s:[{s:s, s:b, s:b, "
		"s:{s:{s:s, s:{s:{s:s}}}}}]}}",
		"metadata", "name", "gadgets.example.com", "uid", "u-1", "generation", 1,
		"spec", "group", "example.com", "scope", "Namespaced", "names", "plural",
		"gadgets", "singular", "gadget", "kind", "Gadget", "listKind",
		"GadgetList", "versions", "name", "v1", "served", 1, "storage", 1,
		"schema", "openAPIV3Schema", "type", "object", "properties", "size",
		"type", "string");
}

/* With another short name. */
static json_t *changed(struct kube_rig *rig)
{
	struct neap_object *newest = neap_store_newest(
		rig->store.store, "customresourcedefinitions.apiextensions.k8s.io", "",
		"widgets.example.com");
	json_t *tree = neap_object_tree(newest);
	json_t *names = json_object_get(json_object_get(tree, "spec"), "names");

	if (json_object_set_new(names, "shortNames", json_pack("[s]", "wx")) < 0 ||
	    json_object_set_new(json_object_get(tree, "metadata"), "generation",
				json_integer(2)) < 0) {
		json_decref(tree);
		return NULL;
	}
	return tree;
}

static struct neap_store_write write_of(enum neap_store_verb verb, const char *name)
{
	return (struct neap_store_write){
		.verb = verb,
		.resource = "customresourcedefinitions.apiextensions.k8s.io",
		.ns = "",
		.name = name,
	};
}

static int create(void *arg, struct neap_error *err)
{
	struct neap_store_write write =
		write_of(NEAP_STORE_CREATE, "gadgets.example.com");

	write.object = definition();
	return act(arg, &write, err);
}

static int change(void *arg, struct neap_error *err)
{
	struct neap_store_write write =
		write_of(NEAP_STORE_UPDATE, "widgets.example.com");

	write.object = changed(arg);
	return act(arg, &write, err);
}

static int end(void *arg, struct neap_error *err)
{
	struct neap_store_write write =
		write_of(NEAP_STORE_DELETE, "widgets.example.com");

	return act(arg, &write, err);
}

static int empty(void *arg, struct neap_error *err)
{
	struct kube_rig *rig = arg;

	(void)err;
	kube_send(rig, "DELETE " CRDS "/widgets.example.com", NULL);
	run(rig, NULL);
	/* Whatever it was told. */
	(void)close(rig->fd);
	rig->fd = -1;
	return 0;
}

static const char file_text[] =
	"kind: CustomResourceDefinition\n"
	"metadata: {name: gadgets.example.com}\n"
	"spec:\n"
	"  group: example.com\n"
	"  scope: Namespaced\n"
	"  names: {plural: gadgets, kind: Gadget}\n"
	"  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: "
	"{type: object}}}]\n";

static const char *file_of(const struct kube_rig *rig, const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof(path), "%s/crds%s", rig->store.dir, name);
	return path;
}

static void *setup_start(void)
{
	struct kube_rig *rig = setup();
	FILE *file;

	(void)mkdir(file_of(rig, ""), 0700);
	file = fopen(file_of(rig, "/gadgets.yaml"), "we");
	if (file == NULL || fputs(file_text, file) < 0 || fclose(file) != 0)
		torture_fail("cannot write");
	return rig;
}

static int start(void *arg, struct neap_error *err)
{
	struct kube_rig *rig = arg;
	struct neap_kube_declared_folder folder;
	const struct neap_kube_declared_config config = {.kube = rig->kube,
							 .folder = &folder};
	int ret = neap_kube_declared_folder_open(&folder, file_of(rig, ""), err);

	neap_kube_declared_free(rig->declared);
	rig->declared = NULL;
	if (ret == 0)
		ret = neap_kube_declared_new(&config, &rig->declared, err);
	neap_kube_declared_folder_close(&folder);
	return ret;
}

static void check_start(void *arg, int rc)
{
	struct kube_rig *rig = arg;
	struct neap_error err;

	if (rc < 0 && start(arg, &err) < 0)
		torture_fail("%s", err.msg);
	(void)unlink(file_of(rig, "/gadgets.yaml"));
	(void)rmdir(file_of(rig, ""));
	for (int i = 0; !is_served(rig, GROUP "/gadgets"); i++) {
		if (i == TRIES)
			torture_fail("the kind of the file is not served");
		kube_run(rig, 10);
	}
	check(arg, rc);
}

#define ROW(name, setup_, act_, check_)                                                  \
	{                                                                                \
		"declared: " name, setup_, act_, check_, teardown                        \
	}

const struct torture torture_declared[] = {
	ROW("a new one", setup, create, check),
	ROW("a change", setup, change, check),
	ROW("the end", setup, end, check),
	ROW("the end of its objects", setup, empty, check),
	ROW("the start", setup_start, start, check_start),
	{0},
};
