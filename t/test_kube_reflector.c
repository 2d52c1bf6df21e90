/* SPDX-License-Identifier: Apache-2.0
 *
 * Watches against a model: writers make thousands of changes at once (create, change,
 * delete, labels and phases that move objects in and out of selectors); watch clients of
 * every kind follow, read slowly, are cut at any byte, stay away, and meet versions that
 * are forgotten. What each saw must be what happened, from where it was: nothing lost,
 * nothing doubled, in order; and every list must be the state of its version.
 * REFLECTOR_CHANGES (10000), REFLECTOR_SEED (1). */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <event2/event.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "t/lib/kube_rig.h"
#include "t/lib/reflector.h"

#define WRITERS    16
#define NAMES      96
#define NAMESPACES 3
#define HISTORY    ((size_t)128 * 1024)
#define PATIENCE_S 120

/* What is modelled of an object; all zero: there is none. */
struct state {
	bool is_there;
	int label, phase, n; /* of each 0 to 2; n counts on */
};

struct change {
	int name; /* -1: none known yet */
	struct state before, now;
};

struct writer {
	struct wire wire;
	int name; /* of what is on its way */
	struct state wanted;
	bool is_deletion;
};

struct model;

struct follower {
	struct model *model;
	struct reflector *reflector;
	const char *ns, *label, *phase; /* NULL: any */
	bool has_content;               /* not a Table of metadata */
	int64_t at;                     /* version up to which all was checked */
	unsigned back_at;               /* changes until it reads on */
	unsigned trouble_at;            /* changes until it is cut, or stays away */
};

struct model {
	struct kube_rig *rig;
	uint32_t seed;
	unsigned changes, wanted, refused, same;
	struct state now[NAMES];
	/* Of version base + 1 + index. */
	struct change *history;
	int64_t base, newest;
	size_t room;
	struct writer writers[WRITERS];
	struct follower followers[12];
	size_t follower_count;
};

static const char *const labels[] = {"red", "green", "blue"};
static const char *const phases[] = {"", "Pending", "Running"};

static uint32_t draw(struct model *model, uint32_t below)
{
	model->seed = model->seed * 1664525 + 1013904223;
	return (model->seed >> 8) % below;
}

static void ns_of(int name, char *to, size_t size)
{
	(void)snprintf(to, size, "ns-%d", name % NAMESPACES);
}

static void path_of(int name, const char *rest, char *to, size_t size)
{
	(void)snprintf(to, size, "/api/v1/namespaces/ns-%d/pods/pod-%d%s",
		       name % NAMESPACES, name, rest);
}

/* --- writers --- */

static void create(struct writer *writer)
{
	char path[128], body[512];

	path_of(writer->name, "", path, sizeof(path));
	*strrchr(path, '/') = '\0';
	(void)snprintf(body, sizeof(body),
		       "{\"metadata\":{\"name\":\"pod-%d\",\"labels\":{\"l\":\"%s\"},"
		       "\"annotations\":{\"n\":\"%d\"}},"
		       "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
		       writer->name, labels[writer->wanted.label], writer->wanted.n);
	wire_ask(&writer->wire, "POST", path, "", body);
}

static void merge(struct writer *writer, const char *sub, const char *body)
{
	char path[128];

	path_of(writer->name, sub, path, sizeof(path));
	wire_ask(&writer->wire, "PATCH", path,
		 "Content-Type: application/merge-patch+json\r\n", body);
}

static void begin(struct model *model, struct writer *writer, int index)
{
	char path[128], body[256];
	struct state *wanted = &writer->wanted;

	/* Each has names of its own, so that it knows what becomes of them. */
	writer->name = index + WRITERS * (int)draw(model, NAMES / WRITERS);
	*wanted = model->now[writer->name];
	writer->is_deletion = false;
	if (!wanted->is_there) {
		*wanted = (struct state){.is_there = true,
					 .label = (int)draw(model, 3),
					 .phase = 1,
					 .n = (int)draw(model, 1000)};
		create(writer);
		return;
	}
	switch (draw(model, 6)) {
	case 0:
		writer->is_deletion = true;
		*wanted = (struct state){0};
		path_of(writer->name, "", path, sizeof(path));
		wire_ask(&writer->wire, "DELETE", path, "", NULL);
		break;
	case 1:
	case 2: /* mostly into or out of a selector, sometimes nothing */
		wanted->label = (int)draw(model, 3);
		(void)snprintf(body, sizeof(body),
			       "{\"metadata\":{\"labels\":{\"l\":\"%s\"}}}",
			       labels[wanted->label]);
		merge(writer, "", body);
		break;
	case 3:
		wanted->phase = 1 + (int)draw(model, 2);
		(void)snprintf(body, sizeof(body), "{\"status\":{\"phase\":\"%s\"}}",
			       phases[wanted->phase]);
		merge(writer, "/status", body);
		break;
	default:
		wanted->n++;
		(void)snprintf(body, sizeof(body),
			       "{\"metadata\":{\"annotations\":{\"n\":\"%d\"}}}",
			       wanted->n);
		merge(writer, "", body);
	}
}

static void note(struct model *model, int64_t version, int name,
		 const struct state *state)
{
	struct change *change;
	size_t at = (size_t)(version - model->base - 1);

	while (at >= model->room) {
		size_t room = model->room != 0 ? model->room * 2 : 1024, i;

		model->history =
			neap_realloc_array(model->history, room, sizeof(*model->history));
		assert_non_null(model->history);
		for (i = model->room; i < room; i++)
			model->history[i].name = -1;
		model->room = room;
	}
	change = &model->history[at];
	assert_int_equal(change->name, -1); /* no version is given twice */
	*change = (struct change){name, model->now[name], *state};
	model->now[name] = *state;
	model->changes++;
	if (version > model->newest)
		model->newest = version;
}

static bool is_same(const struct state *a, const struct state *b)
{
	return a->is_there == b->is_there && a->label == b->label &&
	       a->phase == b->phase && a->n == b->n;
}

static void end(struct model *model, struct writer *writer)
{
	const struct state *before = &model->now[writer->name];
	int status = writer->wire.status;
	json_t *answer = NULL;
	json_error_t where;

	assert_int_equal(neap_json_parse(writer->wire.body.data, writer->wire.body.len, 0,
					 &answer, &where),
			 0);
	if (status != (before->is_there ? 200 : 201)) {
		fail_msg("write: %d %s", status, writer->wire.body.data);
	} else if (is_same(before, &writer->wanted)) {
		model->same++; /* keeps its version, and nobody is told */
	} else {
		note(model,
		     strtoll(kube_text(answer, "metadata.resourceVersion"), NULL, 10),
		     writer->name, &writer->wanted);
	}
	json_decref(answer);
}

static void writer_step(struct model *model, int index)
{
	struct writer *writer = &model->writers[index];

	switch (wire_step(&writer->wire, SIZE_MAX)) {
	case WIRE_DONE:
		end(model, writer);
		break;
	case WIRE_BROKEN:
		fail_msg("a writer was cut off");
		break;
	case WIRE_IDLE:
	case WIRE_WAITS:
	case WIRE_MORE:
		break;
	}
}

/* Whether all that is durable was answered: a follower may hear of a change before its
 * writer does. */
static bool is_noted(const struct model *model)
{
	return model->base + model->changes ==
	       neap_store_version(model->rig->store.store);
}

static void begin_all(struct model *model)
{
	for (int i = 0; i < WRITERS && model->changes < model->wanted; i++)
		if (!model->writers[i].wire.is_asked)
			begin(model, &model->writers[i], i);
}

/* --- what a follower must see --- */

static bool is_mine(const struct follower *follower, int name, const struct state *state)
{
	char ns[16];

	ns_of(name, ns, sizeof(ns));
	return state->is_there && (!follower->ns || strcmp(follower->ns, ns) == 0) &&
	       (!follower->label || strcmp(follower->label, labels[state->label]) == 0) &&
	       (!follower->phase || strcmp(follower->phase, phases[state->phase]) == 0);
}

/* NULL: nothing. */
static const char *type_of(const struct follower *follower, const struct change *change)
{
	bool was = is_mine(follower, change->name, &change->before);
	bool is = is_mine(follower, change->name, &change->now);

	return is ? was ? "MODIFIED" : "ADDED" : was ? "DELETED" : NULL;
}

static void check_object(const struct follower *follower, const json_t *object, int name,
			 const struct state *state)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "pod-%d", name);
	assert_string_equal(kube_text(object, "metadata.name"), text);
	ns_of(name, text, sizeof(text));
	assert_string_equal(kube_text(object, "metadata.namespace"), text);
	if (!state->is_there)
		return;
	assert_string_equal(kube_text(object, "metadata.labels.l"), labels[state->label]);
	(void)snprintf(text, sizeof(text), "%d", state->n);
	assert_string_equal(kube_text(object, "metadata.annotations.n"), text);
	if (follower->has_content)
		assert_string_equal(kube_text(object, "status.phase"),
				    phases[state->phase]);
}

/* The first change behind version that this one is told of; NULL: there is none. */
static const struct change *next_change(const struct follower *follower, int64_t *version)
{
	const struct model *model = follower->model;

	while (*version < model->newest) {
		const struct change *change = &model->history[(*version)++ - model->base];

		if (type_of(follower, change) != NULL)
			return change;
	}
	return NULL;
}

static void saw(void *arg, const char *type, const json_t *object, int64_t version)
{
	struct follower *follower = arg;
	int64_t at = follower->at;
	const struct change *change = next_change(follower, &at);

	if (strcmp(type, "BOOKMARK") == 0) {
		/* Nothing up to there was left out, and nothing is told ahead. */
		assert_true(change == NULL || at > version);
		assert_true(version <= follower->model->newest);
		follower->at = version;
		return;
	}
	if (change == NULL)
		fail_msg("%s %s at %" PRId64 " after %" PRId64 ": nothing is to come",
			 type, kube_text(object, "metadata.name"), version, follower->at);
	if (at != version || strcmp(type_of(follower, change), type) != 0)
		fail_msg("%s %s at %" PRId64 " after %" PRId64
			 ": wanted %s pod-%d at %" PRId64,
			 type, kube_text(object, "metadata.name"), version, follower->at,
			 type_of(follower, change), change->name, at);
	/* Of one that leaves a selector the content is not promised. */
	check_object(follower, object, change->name,
		     is_mine(follower, change->name, &change->now) ? &change->now
								   : &(struct state){0});
	follower->at = version;
}

static void check_copy(struct follower *follower, int64_t version)
{
	const struct model *model = follower->model;
	const json_t *copy = reflector_copy(follower->reflector);
	struct state then[NAMES] = {{0}};
	size_t count = 0;

	assert_true(version <= model->newest || model->newest == model->base);
	for (int64_t v = model->base; v < version && v < model->newest; v++) {
		const struct change *change = &model->history[v - model->base];

		assert_int_not_equal(change->name, -1);
		then[change->name] = change->now;
	}
	for (int i = 0; i < NAMES; i++) {
		char key[64];

		if (!is_mine(follower, i, &then[i]))
			continue;
		(void)snprintf(key, sizeof(key), "ns-%d/pod-%d", i % NAMESPACES, i);
		if (json_object_get(copy, key) == NULL)
			fail_msg("%s is not in the copy at %" PRId64, key, version);
		check_object(follower, json_object_get(copy, key), i, &then[i]);
		count++;
	}
	assert_int_equal(json_object_size(copy), count);
}

static void listed(void *arg, int64_t version)
{
	struct follower *follower = arg;

	assert_true(version >= follower->at); /* never back */
	follower->at = version;
	check_copy(follower, version);
}

/* --- the run --- */

static const struct {
	const char *collection, *query, *ns, *label, *phase;
	unsigned limit, timeout_s;
	bool is_table, is_streaming, is_slow;
} kinds[] = {
	{"/api/v1/pods", "", NULL, NULL, NULL, 7, 0, false, false, false},
	{"/api/v1/pods", "&labelSelector=l%3Dgreen", NULL, "green", NULL, 5, 1, false,
	 false, false},
	{"/api/v1/namespaces/ns-1/pods", "", "ns-1", NULL, NULL, 0, 0, true, false,
	 false},
	{"/api/v1/namespaces/ns-2/pods", "&fieldSelector=status.phase%3DRunning", "ns-2",
	 NULL, "Running", 3, 0, false, false, true},
	{"/api/v1/pods", "&fieldSelector=status.phase%3DRunning&labelSelector=l%3Dred",
	 NULL, "red", "Running", 2, 1, false, true, false},
	{"/api/v1/pods", "", NULL, NULL, NULL, 500, 0, false, true, true},
	{"/api/v1/pods", "&labelSelector=l+in+(blue)", NULL, "blue", NULL, 4, 0, true,
	 false, true},
};

static void follow(struct model *model, size_t index)
{
	struct follower *follower = &model->followers[index];
	struct reflector_config config = {
		.path = model->rig->path,
		.collection = kinds[index].collection,
		.query = kinds[index].query,
		.limit = kinds[index].limit,
		.timeout_s = kinds[index].timeout_s,
		.is_table = kinds[index].is_table,
		.is_streaming = kinds[index].is_streaming,
		.saw = saw,
		.listed = listed,
		.arg = follower,
	};

	*follower = (struct follower){.model = model,
				      .reflector = reflector_new(&config),
				      .ns = kinds[index].ns,
				      .label = kinds[index].label,
				      .phase = kinds[index].phase,
				      .has_content = !kinds[index].is_table};
}

static void follower_step(struct model *model, size_t index, bool is_end)
{
	struct follower *follower = &model->followers[index];
	bool is_slow = kinds[index].is_slow;

	if (!is_end && model->changes < follower->back_at)
		return;
	for (int i = 0; i < 20; i++)
		if (!reflector_step(follower->reflector, is_end || draw(model, 3) == 0
								 ? SIZE_MAX
								 : draw(model, 3000) + 1))
			break;
	if (is_end)
		return;
	/* Between two pages of a list. */
	if (is_slow && !reflector_is_watching(follower->reflector) && draw(model, 6) == 0)
		follower->back_at = model->changes + draw(model, 600);
	if (model->changes < follower->trouble_at)
		return;
	follower->trouble_at = model->changes + draw(model, 300);
	if (draw(model, 3) != 0)
		reflector_cut(follower->reflector);
	if (draw(model, 3) != 0)
		follower->back_at = model->changes + draw(model, is_slow ? 900 : 90);
}

static bool is_behind(const struct follower *follower)
{
	int64_t at = follower->at;

	return !reflector_is_watching(follower->reflector) ||
	       next_change(follower, &at) != NULL;
}

static bool turn(struct model *model)
{
	bool is_busy = false, is_writing = model->changes < model->wanted;

	assert_true(event_base_loop(model->rig->base, EVLOOP_NONBLOCK) >= 0);
	for (int i = 0; i < WRITERS; i++) {
		writer_step(model, i);
		is_writing |= model->writers[i].wire.is_asked;
	}
	if (!is_noted(model))
		return true;
	begin_all(model);
	for (size_t i = 0; i < model->follower_count; i++) {
		follower_step(model, i, !is_writing);
		is_busy |= is_behind(&model->followers[i]);
	}
	return is_writing || is_busy;
}

static unsigned setting(const char *name, unsigned fallback)
{
	const char *text = getenv(name);

	return text != NULL ? (unsigned)strtoul(text, NULL, 10) : fallback;
}

static void model_start(struct model *model)
{
	char body[64];

	model->seed = setting("REFLECTOR_SEED", 1);
	model->wanted = setting("REFLECTOR_CHANGES", 10000);
	model->rig = kube_rig_start_with("127.0.0.1:0", NULL, HISTORY);
	for (int i = 0; i < NAMESPACES; i++) {
		(void)snprintf(body, sizeof(body), "{'metadata':{'name':'ns-%d'}}", i);
		assert_int_equal(kube_ask(model->rig, "POST /api/v1/namespaces", body),
				 201);
	}
	model->base = model->newest = strtoll(
		kube_text(model->rig->body, "metadata.resourceVersion"), NULL, 10);
	for (int i = 0; i < WRITERS; i++)
		wire_init(&model->writers[i].wire, model->rig->path);
	model->follower_count = NEAP_ARRAY_LEN(kinds);
	for (size_t i = 0; i < model->follower_count; i++)
		follow(model, i);
}

static struct reflector_count sum_up(struct model *model)
{
	struct reflector_count sum = {0};
	unsigned *to = (unsigned *)&sum;

	for (size_t i = 0; i < model->follower_count; i++) {
		const struct reflector_count *count =
			reflector_counts(model->followers[i].reflector);
		const unsigned *from = (const unsigned *)count;

		for (size_t k = 0; k < sizeof(sum) / sizeof(*to); k++)
			to[k] += from[k];
	}
	return sum;
}

static void model_end(struct model *model)
{
	void *rig = model->rig;

	for (size_t i = 0; i < model->follower_count; i++)
		reflector_free(model->followers[i].reflector);
	for (int i = 0; i < WRITERS; i++)
		wire_done(&model->writers[i].wire);
	free(model->history);
	(void)kube_rig_teardown(&rig);
}

static void test_nothing_lost(void **state)
{
	static struct model model;
	struct reflector_count sum;
	time_t end_at = time(NULL) + PATIENCE_S + setting("REFLECTOR_CHANGES", 0) / 50;

	(void)state;
	model_start(&model);
	while (turn(&model))
		assert_true(time(NULL) < end_at);
	/* Nothing comes after the end. */
	for (int i = 0; i < 50; i++)
		(void)turn(&model);
	for (size_t i = 0; i < model.follower_count; i++)
		check_copy(&model.followers[i], model.newest);
	sum = sum_up(&model);
	print_message("# %u changes, %u of nothing; %u lists in %u pages (%u tokens "
		      "expired), %u watches, %u cuts, %u ends, %u gone, %u frames, %u "
		      "bookmarks\n",
		      model.changes, model.same, sum.lists, sum.pages, sum.expired_pages,
		      sum.watches, sum.cuts, sum.ends, sum.gone, sum.frames,
		      sum.bookmarks);
	assert_true(model.changes >= model.wanted && model.same > 0);
	if (model.wanted >= 10000)
		assert_true(sum.cuts > 50 && sum.gone > 5 && sum.bookmarks > 2 &&
			    sum.expired_pages > 0 && sum.pages > 20);
	model_end(&model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_nothing_lost)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
