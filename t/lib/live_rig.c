/* SPDX-License-Identifier: Apache-2.0
 *
 * Live policies for tests. */
#include "t/lib/live_rig.h"

#include <event2/event.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/http/server.h"
#include "engine/base/mem.h"
#include "t/lib/patience.h"

#define ONE "one"

/* --- texts --- */

int64_t live_bit(char letter)
{
	return (int64_t)1 << (letter - 'A');
}

const char *live_text(const char *name, char letter)
{
	static char text[1024];

	(void)snprintf(
		text, sizeof(text),
		"-- %c\nreturn {\n  api = 1, kind = \"qos\", name = \"%s\",\n"
		"  params = { milli = { type = \"integer\", min = 20, max = %d, default = 100,"
		" doc = \"quota\" } },\n  needs = { \"capacity_milli\" },\n%s"
		"  tick = function(ctx, node)\n"
		"    if node.capacity_milli // %lld %% 2 == 1 then error(\"boom %c\") end\n"
		"    return { { target = \"besteffort\", key = \"cpu.max_milli\","
		" value = ctx.params.milli, why = \"%c\" } }\n  end,\n}\n",
		letter, name, letter == 'N' || letter == 'O' ? 400 : 100000,
		letter == 'S' ? "  where = { nodeSelector = { zone = \"else\" } },\n"
			      : "",
		(long long)live_bit(letter), letter, letter);
	return text;
}

void live_version(const char *name, char letter, char ret[12])
{
	const char *text = live_text(name, letter);

	neap_live_version_of(text, strlen(text), ret);
}

char live_letter(const char *name, const char *version)
{
	char is[12];
	int letter;

	for (letter = 'A'; letter <= 'Z'; letter++) {
		live_version(name, (char)letter, is);
		if (strcmp(is, version) == 0)
			return (char)letter;
	}
	return '-';
}

/* --- life --- */

static void note(void *arg, const char *label, const char *what)
{
	struct live_rig *rig = arg;
	size_t len = strlen(rig->notes);

	(void)snprintf(rig->notes + len, sizeof(rig->notes) - len, "%s: %s\n", label,
		       what);
}

static void describe(void *arg, const char *label, json_t *row)
{
	(void)arg;
	(void)json_object_set_new(row, "label", json_string(label));
}

int live_setup(void **state)
{
	struct live_rig *rig = calloc(1, sizeof(*rig));
	const char *dir = getenv("NEAP_TEST_DIR");
	char file[96];

	/* A sync costs nothing there. */
	if (dir == NULL)
		dir = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	(void)snprintf(rig->base_dir, sizeof(rig->base_dir), "%s/neap-live-XXXXXX", dir);
	assert_non_null(mkdtemp(rig->base_dir));
	(void)snprintf(rig->dir, sizeof(rig->dir), "%s/policies", rig->base_dir);
	(void)snprintf(rig->policy_dir, sizeof(rig->policy_dir), "%s/dir", rig->base_dir);
	(void)snprintf(file, sizeof(file), "%s/log", rig->base_dir);
	(void)mkdir(rig->policy_dir, 0755);
	rig->log_fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND, 0600);
	rig->base = neap_http_base_new();
	rig->labels = json_pack("{s:s}", "zone", "here");
	rig->configured = '-';
	rig->deleted_bytes = 1 << 24;
	*state = rig;
	return 0;
}

int live_teardown(void **state)
{
	struct live_rig *rig = *state;
	neap_auto_free char *command = neap_asprintf("rm -rf %s", rig->base_dir);

	live_stop(rig);
	json_decref(rig->answer.body);
	json_decref(rig->labels);
	event_base_free(rig->base);
	close(rig->log_fd);
	if (system(command) != 0)
		return -1;
	free(rig);
	return 0;
}

static int sources(struct live_rig *rig, struct neap_live_source *ret, char *text,
		   size_t size, struct neap_param_text *param)
{
	if (rig->configured == '-')
		return 0;
	(void)neap_strcopy(text, size, live_text(ONE, rig->configured));
	*ret = (struct neap_live_source){
		.text = text, .len = strlen(text), .origin = "/etc/one.lua"};
	if (rig->configured_milli != 0) {
		(void)neap_strcopy(param->name, sizeof(param->name), "milli");
		(void)snprintf(param->value, sizeof(param->value), "%d",
			       rig->configured_milli);
		ret->params = param;
		ret->param_count = 1;
	}
	return 1;
}

int live_start(struct live_rig *rig, struct neap_error *err)
{
	struct neap_live_config config = {
		.base = rig->base,
		.own_uid = geteuid(),
		.deleted_bytes = rig->deleted_bytes,
		.labels = rig->labels,
		.log = {rig->log_fd, NEAP_LOG_DEBUG, NEAP_LOG_TEXT, "t"},
		.note = note,
		.describe = describe,
		.arg = rig,
	};
	struct neap_live_source source;
	struct neap_param_text param = {{0}, {0}};
	char text[1024];
	int index, count;

	rig->registry = neap_registry_new();
	rig->recorders.samples = neap_record_new(0, 0);
	if (rig->registry == NULL || rig->recorders.samples == NULL)
		return neap_error_nomem(err);
	config.registry = rig->registry;
	config.recorders = &rig->recorders;
	(void)neap_strcopy(config.dir, sizeof(config.dir), rig->dir);
	if (neap_live_new(&config, &rig->live, err) < 0)
		return -(int)err->code;
	count = sources(rig, &source, text, sizeof(text), &param);
	if (neap_live_start(rig->live, &source, count, &index, err) < 0)
		return -(int)err->code;
	return rig->has_dir ? neap_live_watch(rig->live, rig->policy_dir, err) : 0;
}

void live_stop(struct live_rig *rig)
{
	neap_live_free(rig->live);
	neap_registry_free(rig->registry);
	neap_record_free(rig->recorders.samples);
	rig->live = NULL;
	rig->registry = NULL;
	rig->recorders.samples = NULL;
}

struct live_rig *live_open(void **state)
{
	struct live_rig *rig;
	struct neap_error err = {0};

	assert_int_equal(live_setup(state), 0);
	rig = *state;
	if (live_start(rig, &err) < 0)
		fail_msg("%s", err.msg);
	return rig;
}

void live_settle(struct live_rig *rig)
{
	/* What is in the queue of the loop only, too. */
	(void)event_base_loop(rig->base, EVLOOP_NONBLOCK);
	assert_true(comes_true_in(rig->base, rig->live->at_work == NULL &&
						     rig->live->first == NULL));
}

/* --- ticks --- */

static void tick_one(struct live_rig *rig, struct neap_registry_slot *slot)
{
	struct neap_policy_wish *wishes = NULL;
	struct neap_policy_info info;
	enum neap_tick_verdict verdict;
	struct neap_error err = {0};
	size_t count = 0;

	if (slot->stats.is_failed || slot->is_elsewhere)
		return;
	verdict = neap_policy_tick(slot->policy, &rig->sample, &wishes, &count, &err);
	if (verdict == NEAP_TICK_WISHES)
		neap_registry_hold_take(slot, wishes, count);
	if (!neap_registry_note(slot, verdict, &err, 1))
		return;
	neap_policy_get_info(slot->policy, &info);
	neap_live_failed(rig->live, info.kind, info.name, err.msg);
}

void live_tick(struct live_rig *rig)
{
	size_t i;

	for (i = 0; i < neap_registry_count(rig->registry); i++)
		tick_one(rig, neap_registry_get(rig->registry, i));
}

/* --- changes --- */

static void answered(void *arg, int status, json_t *body, const char *version,
		     const struct neap_error *err)
{
	struct live_rig *rig = arg;

	json_decref(rig->answer.body);
	rig->answer.calls++;
	rig->answer.status = err != NULL ? neap_code_http(err->code) : status;
	rig->answer.body = body;
	(void)neap_strcopy(rig->answer.version, sizeof(rig->answer.version), version);
	rig->answer.err = err != NULL ? *err : (struct neap_error){0};
}

struct neap_live_change live_change(struct live_rig *rig, const char *name)
{
	json_decref(rig->answer.body);
	rig->answer = (struct live_answer){0};
	return (struct neap_live_change){
		.kind = "qos", .name = name, .by = "uid 7", .done = answered, .arg = rig};
}

int live_ask(struct live_rig *rig, int rc, const struct neap_error *err)
{
	assert_int_equal(rig->answer.calls, 0);
	live_settle(rig);
	if (rc < 0) {
		assert_int_equal(rig->answer.calls, 0);
		rig->answer.status = neap_code_http(err->code);
		rig->answer.err = *err;
		return rig->answer.status;
	}
	assert_int_equal(rig->answer.calls, 1);
	return rig->answer.status;
}

int live_put(struct live_rig *rig, const char *name, const char *text)
{
	struct neap_live_change change = live_change(rig, name);
	struct neap_error err = {0};

	return live_ask(rig, neap_live_put(rig->live, &change, text, strlen(text), &err),
			&err);
}

void live_file(struct live_rig *rig, const char *file, const char *text)
{
	char to[160], part[160];
	int fd;

	(void)snprintf(to, sizeof(to), "%s/%s", rig->policy_dir, file);
	(void)snprintf(part, sizeof(part), "%s/.part", rig->policy_dir);
	if (text != NULL) {
		fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		assert_int_equal(write(fd, text, strlen(text)), strlen(text));
		close(fd);
		assert_int_equal(rename(part, to), 0);
	} else {
		assert_int_equal(unlink(to), 0);
	}
	neap_live_look(rig->live);
	live_settle(rig);
}

int live_set(struct live_rig *rig, const char *text)
{
	struct neap_live_change change = live_change(rig, "one");
	json_t *params = json_loads(text, 0, NULL);
	struct neap_error err = {0};
	int rc = neap_live_set_params(rig->live, &change, params, &err);

	json_decref(params);
	return live_ask(rig, rc, &err);
}

int64_t live_milli(struct live_rig *rig)
{
	json_t *params = neap_policy_params(
		neap_registry_find(rig->registry, "qos", "one")->policy);
	int64_t milli = json_integer_value(json_object_get(params, "milli"));

	json_decref(params);
	return milli;
}

/* --- state --- */

const char *live_state(struct live_rig *rig, const char *name)
{
	static char text[8];
	const struct neap_registry_slot *slot =
		neap_registry_find(rig->registry, "qos", name);
	struct neap_policy_id id = {.kind = "qos"};
	const struct live_item *item;
	struct neap_policy_info info;

	(void)neap_strcopy(id.name, sizeof(id.name), name);
	item = neap_live_find(rig->live, &id);
	if (slot == NULL)
		return "-";
	neap_policy_get_info(slot->policy, &info);
	(void)snprintf(text, sizeof(text), "%c%c%s%s%s", "-cud"[item->layer],
		       live_letter(name, info.version), slot -> probation > 0 ? "*" : "",
		       slot->stats.is_failed ? "!" : "", slot->is_elsewhere ? "@" : "");
	return text;
}

char live_active(struct live_rig *rig, const char *name)
{
	struct neap_error err;
	struct neap_policy_id id = {.kind = "qos"};
	char version[12] = "";
	char *text = NULL;
	size_t len;

	(void)neap_strcopy(id.name, sizeof(id.name), name);
	if (neap_versions_read(rig->dir, &id, "", &text, &len, version, &err) < 0)
		return '-';
	free(text);
	return live_letter(name, version);
}

const char *live_log(struct live_rig *rig)
{
	static char text[65536];
	ssize_t len = pread(rig->log_fd, text, sizeof(text) - 1, 0);

	text[len > 0 ? len : 0] = '\0';
	return text;
}

/* --- scripts --- */

static int play_configure(struct live_rig *rig, char letter)
{
	struct neap_live_source source;
	struct neap_param_text param = {{0}, {0}};
	struct neap_error err = {0};
	char text[1024];
	int count;

	rig->configured = letter;
	count = sources(rig, &source, text, sizeof(text), &param);
	if (neap_live_reconfigure(rig->live, &source, count, &err) < 0)
		fail_msg("%s", err.msg);
	live_settle(rig);
	return 200;
}

static int play_fail(struct live_rig *rig, char letter)
{
	int i;

	rig->sample.capacity_milli |= live_bit(letter);
	for (i = 0; i < NEAP_POLICY_FAULTS_MAX; i++)
		live_tick(rig);
	live_settle(rig);
	rig->sample.capacity_milli = 0;
	return 200;
}

static int play_params(struct live_rig *rig, const char *name, const char *word)
{
	struct neap_live_change change = live_change(rig, name);
	json_t *params = json_object();
	struct neap_error err = {0};
	int rc;

	(void)json_object_set_new(params, "milli",
				  word[0] == '-' ? json_null()
						 : json_integer(strtol(word, NULL, 10)));
	rc = neap_live_set_params(rig->live, &change, params, &err);
	json_decref(params);
	return live_ask(rig, rc, &err);
}

static int play_file(struct live_rig *rig, const char *name, const char *file,
		     char letter)
{
	live_file(rig, file, letter == '-' ? NULL : live_text(name, letter));
	return 200;
}

static int play_move(struct live_rig *rig)
{
	char from[160], to[160];

	(void)snprintf(from, sizeof(from), "%s/one.lua", rig->policy_dir);
	(void)snprintf(to, sizeof(to), "%s/two.lua", rig->policy_dir);
	assert_int_equal(rename(from, to), 0);
	neap_live_look(rig->live);
	live_settle(rig);
	return 200;
}

static int play_restart(struct live_rig *rig)
{
	struct neap_error err = {0};

	live_stop(rig);
	if (live_start(rig, &err) < 0)
		fail_msg("%s", err.msg);
	return 200;
}

static int play_word(struct live_rig *rig, const char *name, const char *word)
{
	struct neap_live_change change;
	struct neap_error err = {0};
	char version[12];
	int rc;

	switch (word[0]) {
	case 'c':
		return play_configure(rig, word[1]);
	case '!':
		return play_fail(rig, word[1]);
	case 'p':
		return play_params(rig, name, word + 1);
	case 'd':
		return play_file(rig, name, "one.lua", word[1]);
	case 'e':
		return play_file(rig, name, "two.lua", word[1]);
	case 'm':
		return play_move(rig);
	case 'R':
		return play_restart(rig);
	case '+':
		return live_put(rig, name, live_text(name, word[1]));
	default:
		break;
	}
	change = live_change(rig, name);
	if (word[0] == '?') {
		change.is_dry_run = true;
		rc = neap_live_put(rig->live, &change, live_text(name, word[1]),
				   strlen(live_text(name, word[1])), &err);
	} else if (word[0] == 'x') {
		rc = neap_live_delete(rig->live, &change, &err);
	} else {
		assert_int_equal(word[0], '<');
		version[0] = '\0';
		if (word[1] >= 'A' && word[1] <= 'Z')
			live_version(name, word[1], version);
		rc = neap_live_rollback(rig->live, &change, version, &err);
	}
	return live_ask(rig, rc, &err);
}

void live_play(struct live_rig *rig, const char *name, const char *script)
{
	neap_auto_free char *copy = neap_strdup(script);
	char *rest = copy, *word;

	while ((word = strsep(&rest, " ")) != NULL) {
		neap_auto_free char *whole = neap_strdup(word);
		char *state = strchr(word, ':'), *status;
		int got, want;

		if (word[0] == '\0')
			continue;
		if (state != NULL)
			*state++ = '\0';
		status = strchr(word, '=');
		if (status != NULL)
			*status++ = '\0';
		got = play_word(rig, name, word);
		want = status != NULL   ? (int)strtol(status, NULL, 10)
		       : got / 100 == 2 ? got
					: 200;
		if (got != want)
			fail_msg("%s: at %s: status %d: %s\n%s", script, whole, got,
				 rig->answer.err.msg, live_log(rig));
		if (state != NULL && strcmp(live_state(rig, name), state) != 0)
			fail_msg("%s: at %s: it is %s\n%s", script, whole,
				 live_state(rig, name), live_log(rig));
	}
}
