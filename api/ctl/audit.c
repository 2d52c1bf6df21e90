/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl audit`: what was written, when, and why, one line each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/ctl/base/client.h"
#include "api/ctl/draw/cells.h"
#include "api/yaml/yaml_write.h"
#include "engine/json/json.h"

#define PAGE         1000 /* the most that one request gives */
#define LIMIT        200
#define FOLLOW_LIMIT 20
#define FOLLOW_USEC  500000

struct audit_values {
	bool follow;
	int64_t since, limit;
};

static const struct neap_option options[] = {
	{"follow", 'f', NEAP_OPTION_FLAG, offsetof(struct audit_values, follow), NULL,
	 "print new entries as they come, until Ctrl-C"},
	{"since", 0, NEAP_OPTION_INT, offsetof(struct audit_values, since), "SEQ",
	 "only entries after number SEQ [the newest entries]", 0, 0},
	{"limit", 'n', NEAP_OPTION_INT, offsetof(struct audit_values, limit), "N",
	 "print at most N entries [200, with -f 20]", 1, 1000000},
	{""},
};

/* "SEQ TIME WHAT GROUP (POD) KEY OLD -> NEW POLICY: WHY [error]" */
static void entry_add(const json_t *entry, struct neap_buf *out)
{
	static const char *const plain[][2] = {
		{"time", " {time}"}, {"what", " {what}"}, {"group", " {group}"},
		{"pod", " ({pod})"}, {"key", " {key}"},
	};
	const json_t *old_value = json_object_get(entry, "old_value");
	const json_t *new_value = json_object_get(entry, "new_value");

	neap_cells_add(out, entry, "{seq}");
	for (size_t i = 0; i < NEAP_ARRAY_LEN(plain); i++)
		if (*neap_json_text(entry, plain[i][0]))
			neap_cells_add(out, entry, plain[i][1]);
	if (json_is_string(old_value) || json_is_string(new_value)) {
		neap_cells_add(out, entry,
			       json_is_string(old_value) ? " {old_value}" : " ?");
		neap_cells_add(out, entry,
			       json_is_string(new_value) ? " -> {new_value}" : " -> ?");
	}
	neap_cells_add_if(out, entry, "policy", " {policy}");
	neap_cells_add_if(out, entry, "why", ": {why}");
	neap_cells_add_if(out, entry, "error", " [failed: {error}]");
	if (json_is_true(json_object_get(entry, "dry_run")))
		neap_buf_adds(out, " [dry run]");
	neap_buf_addc(out, '\n');
}

static int print_entries(const json_t *entries, enum neap_output output)
{
	const json_t *entry;
	struct neap_buf out;
	char *text;
	size_t i;

	neap_buf_init(&out, 4 * NEAP_BUF_REPLY);
	json_array_foreach (entries, i, entry) {
		if (output == NEAP_OUTPUT_TEXT) {
			entry_add(entry, &out);
			continue;
		}
		if (output == NEAP_OUTPUT_YAML) {
			neap_buf_adds(&out, "---\n");
			neap_yaml_add(&out, entry);
			continue;
		}
		text = neap_json_dump(entry, JSON_COMPACT | JSON_ENSURE_ASCII);
		if (text == NULL)
			out.failed = true;
		else
			neap_buf_addf(&out, "%s\n", text);
		free(text);
	}
	return neap_ctl_print_done(&out);
}

/* One page; *since moves behind its last entry. */
static int page_get(struct neap_client *client, int64_t *since, int64_t limit,
		    json_t **ret, struct neap_error *err)
{
	char path[128], from[48] = "";
	json_t *entries;
	size_t count;

	if (*since >= 0)
		(void)snprintf(from, sizeof(from), "since=%lld&", (long long)*since);
	(void)snprintf(path, sizeof(path), "/control/v1/audit?%slimit=%lld", from,
		       (long long)(limit < PAGE ? limit : PAGE));
	if (neap_client_call(client, "GET", path, NULL, ret, err) < 0)
		return -(int)err->code;
	entries = json_object_get(*ret, "entries");
	count = json_array_size(entries);
	if (count > 0)
		*since = neap_member_integer(json_array_get(entries, count - 1), "seq",
					     *since);
	else if (*since < 0 || neap_member_integer(*ret, "last", *since) < *since)
		/* A new daemon counts from 1 again. */
		*since = 0;
	return 0;
}

/* Pages until limit entries are there or no more come. */
static int all_get(struct neap_client *client, int64_t *since, int64_t limit,
		   json_t **ret, struct neap_error *err)
{
	bool is_paged = *since >= 0 || limit > PAGE;
	json_t *page, *entries, *more;
	int64_t newest;
	size_t count;

	/* More of the newest than a page: from that number on. */
	if (*since < 0 && limit > PAGE) {
		if (page_get(client, since, 1, &page, err) < 0)
			return -(int)err->code;
		newest = neap_member_integer(page, "last", 0);
		json_decref(page);
		*since = newest > limit ? newest - limit : 0;
	}
	if (page_get(client, since, limit, ret, err) < 0)
		return -(int)err->code;
	entries = json_object_get(*ret, "entries");
	while (is_paged && (int64_t)json_array_size(entries) < limit) {
		if (page_get(client, since, limit - (int64_t)json_array_size(entries),
			     &page, err) < 0) {
			json_decref(*ret);
			return -(int)err->code;
		}
		more = json_object_get(page, "entries");
		count = json_array_size(more);
		if (count > 0 && json_array_extend(entries, more) < 0) {
			json_decref(page);
			json_decref(*ret);
			return neap_error_nomem(err);
		}
		json_decref(page);
		if (count == 0)
			break;
	}
	return 0;
}

struct follower {
	int64_t since;
	enum neap_output output;
	int status; /* of the last printing */
};

static bool event_line(void *arg, const char *text)
{
	struct follower *follower = arg;
	json_t *entry, *entries;
	json_error_t where;

	if (strncmp(text, "data:", 5) != 0)
		return true;
	text += 5;
	if (neap_json_parse(text, strlen(text), 0, &entry, &where) < 0)
		return true;
	follower->since = neap_member_integer(entry, "seq", follower->since);
	entries = json_pack("[o]", entry);
	follower->status = print_entries(entries, follower->output);
	json_decref(entries);
	return follower->status == 0;
}

/* Prints what arrives until the daemon ends the stream. */
static int stream(struct neap_client *client, struct follower *follower,
		  struct neap_error *err)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/control/v1/audit?since=%lld",
		       (long long)follower->since);
	return neap_client_stream(client, path, event_line, follower, err);
}

/* Ends only by a signal, or when stdout or the daemon goes away. Fetches a page first,
 * which also shows whether a new daemon counts from 1 again, then the stream; a daemon
 * without streams is polled. */
static int follow(struct neap_client *client, int64_t since, int64_t limit,
		  enum neap_output output)
{
	struct follower follower = {.since = since, .output = output};
	struct neap_error err = {0};
	json_t *page = NULL;
	size_t count;
	int r;

	for (;;) {
		if (page_get(client, &follower.since, limit, &page, &err) < 0)
			return neap_ctl_fail(&err);
		count = json_array_size(json_object_get(page, "entries"));
		r = print_entries(json_object_get(page, "entries"), output);
		json_decref(page);
		if (r != 0)
			return r;
		limit = PAGE;
		if (count == PAGE)
			continue;
		r = stream(client, &follower, &err);
		if (r == 0 && follower.status != 0)
			return follower.status;
		if (r < 0 && err.code != NEAP_EUNSUPPORTED)
			return neap_ctl_fail(&err);
		(void)usleep(FOLLOW_USEC); /* sooner by a signal is fine */
	}
}

static int once(struct neap_client *client, int64_t since, int64_t limit,
		enum neap_output output)
{
	struct neap_error err = {0};
	json_t *reply = NULL;
	int r;

	if (all_get(client, &since, limit, &reply, &err) < 0)
		return neap_ctl_fail(&err);
	if (output)
		return neap_ctl_print_take(output, reply);
	r = print_entries(json_object_get(reply, "entries"), false);
	json_decref(reply);
	return r;
}

static int run(struct neap_ctl *ctl, void *arg, int argc, char **argv)
{
	const struct audit_values *values = arg;
	int64_t since = values->since == NEAP_MISSING ? -1 : values->since;
	int64_t limit = values->limit;
	struct neap_client *client = NULL;
	struct neap_error err = {0};
	int r;

	(void)argc, (void)argv;
	if (limit == NEAP_MISSING)
		limit = values->follow ? FOLLOW_LIMIT : LIMIT;
	if (neap_client_new(ctl, &client, &err) < 0)
		return neap_ctl_fail(&err);
	r = values->follow ? follow(client, since, limit, ctl->output)
			   : once(client, since, limit, ctl->output);
	neap_client_free(client);
	return r;
}

const struct neap_command neap_command_audit = {
	.name = "audit",
	.usage = "[-f] [--since SEQ] [--limit N] [-o json|yaml]",
	.example = "audit -f --since 100",
	.summary = "what neap wrote, when and why",
	.text = "One line each: number, time, what, group, key, old and new value, policy, reason.\n",
	.options = options,
	.output = "print JSON or YAML; with -f each entry by itself",
	.values_size = sizeof(struct audit_values),
	.run = run,
};
