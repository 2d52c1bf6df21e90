/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits events as client-go's correlator does, in the same order. From the tenth one on,
 * events that differ only in the message become one. A known event raises its count. Then
 * the rate limit drops events, while counts go on. The memory for this is bounded: the
 * least recently used entry is dropped, and its event then counts as new. */
#include "api/client/events.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/client/client_ops.h"
#include "api/client/events_send.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/base/sha256.h"
#include "engine/base/utf8.h"

#define MESSAGE_MAX  1024
#define KEPT_MAX     4096
#define SIMILAR_MAX  10
#define SIMILAR_USEC (600 * 1000000LL)
#define BURST        25
#define REFILL_USEC  (300 * 1000000LL)
#define COUNT_MAX    INT32_MAX
#define STAMP_SIZE   18 /* ".HEX" and the NUL */

/* Sixteen bytes of a SHA-256: two texts with the same key cannot be made on purpose. */
struct key {
	uint64_t half[2];
};

/* Number of chains, a power of two. */
#define SLOTS 8192
#define NONE  UINT16_MAX

/* The index of a table: finds entries by key, and reuses the least recently used one. */
struct shelf {
	size_t count;
	uint16_t newest, oldest;
	uint16_t first[SLOTS]; /* first entry of a chain, plus one; 0: none */
	uint16_t next[KEPT_MAX], newer[KEPT_MAX], older[KEPT_MAX];
};

/* An event that was written. Its name is its object's name and the stamp. */
struct told {
	struct key key;
	uint64_t stamp;
	int64_t first; /* Unix microseconds */
	int64_t count;
};

/* Events that differ only in the message. */
struct group {
	struct key key;
	int64_t last;
	size_t count;
	struct key messages[SIMILAR_MAX];
};

/* How many events of one type one component may still write about one object. */
struct allowance {
	struct key key;
	int64_t at;
	double left;
};

struct neap_client_notes {
	struct event_outbox *outbox;
	uint64_t stamp; /* the newest one */
	struct shelf told_shelf, group_shelf, allowance_shelf;
	struct told told[KEPT_MAX];
	struct group groups[KEPT_MAX];
	struct allowance allowances[KEPT_MAX];
};

/* The working data of one call. */
struct telling {
	struct neap_client *client;
	const struct neap_client_note *note;
	int64_t now;
	char message[MESSAGE_MAX + 1];
	struct key source, group, key; /* see correlate() */
};

/* --- memory --- */

static bool is_same(const struct key *a, const struct key *b)
{
	return a->half[0] == b->half[0] && a->half[1] == b->half[1];
}

/* False without memory. */
static bool make_key(struct key *ret, char *text)
{
	uint8_t sum[NEAP_SHA256_BYTES];

	if (!text)
		return false;
	neap_sha256(text, strlen(text), sum);
	memcpy(ret, sum, sizeof(*ret));
	free(text);
	return true;
}

static uint16_t *chain_of(struct shelf *shelf, const struct key *key)
{
	return &shelf->first[key->half[0] % SLOTS];
}

static void use(struct shelf *shelf, uint16_t at)
{
	shelf->newer[at] = NONE;
	shelf->older[at] = shelf->count > 1 ? shelf->newest : NONE;
	if (shelf->count > 1)
		shelf->newer[shelf->newest] = at;
	else
		shelf->oldest = at;
	shelf->newest = at;
}

static void touch(struct shelf *shelf, uint16_t at)
{
	if (shelf->newest == at)
		return;
	if (shelf->oldest == at)
		shelf->oldest = shelf->newer[at];
	else
		shelf->newer[shelf->older[at]] = shelf->newer[at];
	shelf->older[shelf->newer[at]] = shelf->older[at];
	use(shelf, at);
}

/* Takes the least recently used entry out of its chain and returns it. */
static uint16_t give_up(struct shelf *shelf, const struct key *key)
{
	uint16_t at = shelf->oldest, *link = chain_of(shelf, key);

	while (*link != at + 1)
		link = &shelf->next[*link - 1];
	*link = shelf->next[at];
	touch(shelf, at);
	return at;
}

/* Returns the entry of key. If there is none, makes one with only the key, in place of
 * the least recently used one when the table is full. Entries begin with their key. */
static void *keep(struct shelf *shelf, void *table, size_t size, const struct key *key)
{
	char *entries = table;
	uint16_t *chain = chain_of(shelf, key), at;

	for (at = *chain; at; at = shelf->next[at - 1])
		if (is_same((struct key *)(void *)(entries + (size_t)(at - 1) * size),
			    key)) {
			touch(shelf, (uint16_t)(at - 1));
			return entries + (size_t)(at - 1) * size;
		}
	if (shelf->count < KEPT_MAX) {
		at = (uint16_t)shelf->count++;
		use(shelf, at);
	} else {
		at = give_up(shelf, (struct key *)(void *)(entries +
							   (size_t)shelf->oldest * size));
	}
	shelf->next[at] = *chain;
	*chain = (uint16_t)(at + 1);
	entries += (size_t)at * size;
	memset(entries, 0, size);
	memcpy(entries, key, sizeof(*key));
	return entries;
}

/* --- limits --- */

/* True when there were so many of its kind that they become one. */
static bool is_combined(struct telling *telling)
{
	struct neap_client_notes *notes = telling->client->notes;
	struct group *group =
		keep(&notes->group_shelf, notes->groups, sizeof(*group), &telling->group);
	bool is_known = false;

	if (telling->now - group->last > SIMILAR_USEC || telling->now < group->last)
		group->count = 0;
	group->last = telling->now;
	for (size_t i = 0; i < group->count; i++)
		is_known = is_known || is_same(&group->messages[i], &telling->key);
	if (!is_known)
		group->messages[group->count++] = telling->key;
	if (group->count < SIMILAR_MAX)
		return false;
	group->count--;
	return true;
}

static bool is_allowed(struct telling *telling)
{
	struct neap_client_notes *notes = telling->client->notes;
	struct allowance *allowance = keep(&notes->allowance_shelf, notes->allowances,
					   sizeof(*allowance), &telling->source);
	int64_t passed = telling->now - allowance->at;

	if (allowance->at == 0)
		allowance->left = BURST;
	else if (passed > 0)
		allowance->left += (double)passed / REFILL_USEC;
	if (allowance->left > BURST)
		allowance->left = BURST;
	allowance->at = telling->now;
	if (allowance->left < 1)
		return false;
	allowance->left -= 1;
	return true;
}

/* Two events of one moment get different stamps. */
static uint64_t make_stamp(struct telling *telling)
{
	struct neap_client_notes *notes = telling->client->notes;
	uint64_t stamp = (uint64_t)telling->now * 1000;

	if (stamp <= notes->stamp)
		stamp = notes->stamp + 1;
	notes->stamp = stamp;
	return stamp;
}

/* --- the event --- */

static const char *text(const char *value)
{
	return value ? value : "";
}

/* Events of cluster-scoped objects are in the namespace default. */
static const char *space_of(const struct neap_client_note *note)
{
	return text(note->ns)[0] ? note->ns : "default";
}

static void name_of(const struct neap_client_note *note, uint64_t stamp, char *to)
{
	size_t len = strlen(text(note->name));

	if (len > NEAP_OBJECT_NAME - STAMP_SIZE)
		len = NEAP_OBJECT_NAME - STAMP_SIZE;
	memcpy(to, text(note->name), len);
	/* A cut name must still end as a name does. */
	while (len && (to[len - 1] == '.' || to[len - 1] == '-'))
		len--;
	(void)snprintf(to + len, STAMP_SIZE, ".%" PRIx64, stamp);
}

static json_t *make_event(const struct telling *telling, const struct told *told,
			  const char *name)
{
	const struct neap_client_note *note = telling->note;
	char first[32], last[32];

	(void)neap_time_format(told->first, 0, first, sizeof(first));
	(void)neap_time_format(telling->now, 0, last, sizeof(last));
	return json_pack(
		"{s:{s:s, s:s}, s:{s:s, s:s, s:s*, s:s, s:s*, s:s*}, s:s, s:s, s:s, "
		"s:{s:s, s:s*}, s:s, s:s, s:s, s:s, s:I}",
		"metadata", "name", name, "namespace", space_of(note), "involvedObject",
		"apiVersion", text(note->api_version), "kind", text(note->kind),
		"namespace", text(note->ns)[0] ? note->ns : NULL, "name",
		text(note->name), "uid", note->uid, "fieldPath", note->field_path,
		"reason", text(note->reason), "message", telling->message, "type",
		note->is_warning ? "Warning" : "Normal", "source", "component",
		text(note->component), "host", note->host, "reportingComponent",
		text(note->component), "reportingInstance", text(note->host),
		"firstTimestamp", first, "lastTimestamp", last, "count",
		(json_int_t)told->count);
}

/* Event objects expire after a while, and users delete them. */
static void write_event(struct telling *telling, const struct told *told)
{
	char name[NEAP_OBJECT_NAME], last[32];
	json_t *changes = NULL;

	name_of(telling->note, told->stamp, name);
	(void)neap_time_format(telling->now, 0, last, sizeof(last));
	if (told->count > 1)
		changes = json_pack("{s:I, s:s, s:s}", "count", (json_int_t)told->count,
				    "lastTimestamp", last, "message", telling->message);
	event_outbox_send_take(telling->client->notes->outbox, space_of(telling->note),
			       name, make_event(telling, told, name), changes);
}

/* False without memory. */
static bool correlate(struct telling *telling)
{
	const struct neap_client_note *note = telling->note;
	char *about =
		neap_asprintf("%s\n%s\n%s\n%s\n%s\n%s\n%s", text(note->component),
			      text(note->host), text(note->api_version), text(note->kind),
			      text(note->ns), text(note->name), text(note->uid));
	char *source = about ? neap_asprintf("%s\n%d", about, note->is_warning) : NULL;
	char *alike = source ? neap_asprintf("%s\n%s", source, text(note->reason)) : NULL;
	bool ok = alike && make_key(&telling->key, neap_asprintf("%s\n%s\n\n%s", alike,
								 text(note->field_path),
								 telling->message));

	free(about);
	ok = make_key(&telling->source, source) && ok;
	ok = make_key(&telling->group, alike) && ok;
	return ok;
}

static void tell(struct telling *telling)
{
	static const char combined[] = "(combined from similar events): ";
	struct neap_client_notes *notes = telling->client->notes;
	struct told *told;

	if (is_combined(telling)) {
		size_t len = sizeof(combined) - 1;

		memmove(telling->message + len, telling->message, MESSAGE_MAX - len);
		memcpy(telling->message, combined, len);
		neap_utf8_trim(telling->message);
		telling->key = telling->group;
	}
	told = keep(&notes->told_shelf, notes->told, sizeof(*told), &telling->key);
	if (!told->count) {
		told->stamp = make_stamp(telling);
		told->first = telling->now;
	}
	if (told->count < COUNT_MAX)
		told->count++;
	if (is_allowed(telling))
		write_event(telling, told);
}

static struct neap_client_notes *make_notes(struct neap_client *client)
{
	struct neap_client_notes *notes = neap_alloc(sizeof(*notes));

	if (!notes)
		return NULL;
	notes->outbox = event_outbox_new(client);
	if (notes->outbox)
		return notes;
	free(notes);
	return NULL;
}

void neap_client_note(struct neap_client *client, const struct neap_client_note *note,
		      const char *fmt, ...)
{
	struct telling telling = {.client = client, .note = note, .now = client->now()};
	char *at = telling.message;
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(at, sizeof(telling.message), fmt, args);
	va_end(args);
	neap_utf8_trim(at);
	/* The message may quote a program's output. */
	while (*at) {
		size_t len = neap_utf8_next(at, strlen(at), NULL);

		if (!len)
			*at = '?';
		at += len ? len : 1;
	}
	if (!client->notes)
		client->notes = make_notes(client);
	if (client->notes && correlate(&telling))
		tell(&telling);
}

void neap_client_notes_due(struct neap_client *client)
{
	if (client->notes)
		event_outbox_due(client->notes->outbox);
}

void neap_client_done(struct neap_client *client)
{
	if (client->notes)
		event_outbox_end(client->notes->outbox);
	free(client->notes);
	client->notes = NULL;
}
