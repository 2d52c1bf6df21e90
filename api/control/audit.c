/* SPDX-License-Identifier: Apache-2.0
 *
 * The audit over HTTP. A stream sends all entries since its last event in one write. It
 * sends nothing to a client that does not read; when the client reads again, the stream
 * reports the entries that the ring dropped meanwhile. */
#include "api/control/control.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

#define LIMIT_DEFAULT 200
#define LIMIT_MAX     1000
#define BATCH         64 /* entries of one write */
/* Lets proxies in between know that the stream is alive. */
#define SILENCE_USEC INT64_C(15000000)
/* Pause between two attempts on a full stream: entries can come by the thousand, and the
 * server counts attempts (NEAP_HTTP_STREAM_SKIPS_MAX) to detect a client that never
 * reads: after 10 s. */
#define RETRY_USEC INT64_C(200000)

struct stream {
	struct stream *next, **prev;
	struct neap_http_stream *http;
	uint64_t since;
	int64_t spoke_usec;
	int64_t full_usec; /* when the last try found it full, 0 if it took all */
};

struct neap_control_audit {
	struct neap_control_node node;
	struct stream *streams;
};

static json_t *entry_to_json(const struct neap_audit_entry *entry)
{
	json_t *object = json_pack("{s:I, s:I}", "seq", (json_int_t)entry->seq,
				   "unix_usec", (json_int_t)entry->unix_usec);
	char when[40];

	if (!object)
		return NULL;
	neap_json_set_text(object, "time",
			   neap_time_format(entry->unix_usec, 3, when, sizeof(when)));
	neap_json_set_text(object, "what", entry->what);
	neap_json_set_text(object, "group", entry->group);
	neap_json_set_text(object, "pod", entry->pod);
	neap_json_set_text(object, "key", entry->key);
	neap_json_set_text(object, "old_value", entry->old_value);
	neap_json_set_text(object, "new_value", entry->new_value);
	neap_json_set_text(object, "policy", entry->policy);
	neap_json_set_text(object, "why", entry->why);
	if (entry->errnum) {
		(void)json_object_set_new(object, "errno", json_integer(entry->errnum));
		neap_json_set_text(object, "error",
				   strerrordesc_np(entry->errnum)
					   ? strerrordesc_np(entry->errnum)
					   : "unknown error");
	}
	if (entry->dry_run)
		(void)json_object_set_new(object, "dry_run", json_true());
	return object;
}

/* A whole number from the query, fallback when it is absent. */
static int query_number(struct neap_http_request *request, const char *name,
			int64_t fallback, int64_t max, int64_t *ret,
			struct neap_error *err)
{
	const char *text = neap_http_query_find(request, name);

	*ret = fallback;
	if (!text)
		return 0;
	if (neap_int_parse(text, ret, NULL) < 0 || *ret < 0 || *ret > max)
		return neap_error_field(err, NEAP_EINVAL, name,
					"'%s' is no number from 0 to %lld", text,
					(long long)max);
	return 0;
}

struct range {
	int64_t since, limit;
};

/* since: entries after this number. Without it the newest ones. */
static int read_range(struct neap_http_request *request, uint64_t newest,
		      struct range *ret, struct neap_error *err)
{
	const char *last = neap_http_header_find(request, "Last-Event-ID");

	if (query_number(request, "limit", LIMIT_DEFAULT, LIMIT_MAX, &ret->limit, err) <
		    0 ||
	    query_number(request, "since", -1, INT64_MAX - 1, &ret->since, err) < 0)
		return -(int)err->code;
	/* A browser that reconnects says how far it got. If it claims to have seen more
	 * than there is, from before a restart of neapd, everything is new to it. */
	if (last != NULL &&
	    (neap_int_parse(last, &ret->since, NULL) < 0 || ret->since < 0))
		return neap_error_field(err, NEAP_EINVAL, "Last-Event-ID",
					"'%.40s' is no number", last);
	if (last != NULL && ret->since > (int64_t)newest)
		ret->since = 0;
	if (ret->since < 0)
		ret->since =
			(int64_t)newest > ret->limit ? (int64_t)newest - ret->limit : 0;
	return 0;
}

static void answer_list(struct neap_http_request *request, const struct neap_audit *audit,
			const struct range *range)
{
	uint64_t newest = neap_audit_last(audit), seq = (uint64_t)range->since + 1;
	json_t *entries = json_array(), *body;

	while (entries && (int64_t)json_array_size(entries) < range->limit &&
	       seq <= newest) {
		const struct neap_audit_entry *entry = neap_audit_find_from(audit, seq);

		if (!entry)
			break;
		seq = entry->seq + 1;
		neap_json_push_new(&entries, entry_to_json(entry));
	}
	/* NULL entries make json_pack fail. */
	body = json_pack("{s:o, s:I}", "entries", entries, "last", (json_int_t)newest);
	neap_control_answer_take(request, 200, body);
}

/* --- streams --- */

static void stream_gone(void *arg)
{
	struct stream *stream = arg;

	*stream->prev = stream->next;
	if (stream->next)
		stream->next->prev = stream->prev;
	free(stream);
}

/* Without memory for an event the buffer fails; the event is sent next time. */
static void add_event(struct neap_buf *out, const struct neap_audit_entry *entry)
{
	uint64_t failures = neap_json_failures();
	json_t *object = entry_to_json(entry);
	neap_auto_free char *text =
		neap_json_dump(object, JSON_COMPACT | JSON_ENSURE_ASCII);

	json_decref(object);
	if (!text || neap_json_failures() != failures)
		out->failed = true;
	else
		neap_buf_addf(out, "id: %llu\nevent: audit\ndata: %s\n\n",
			      (unsigned long long)entry->seq, text);
}

/* Writes what is new, once. False when there is nothing more to send now; the stream may
 * be gone. */
static bool speak(struct stream *stream, const struct neap_audit *audit,
		  int64_t mono_usec)
{
	const struct neap_audit_entry *entry;
	neap_auto_buf struct neap_buf out = {0};
	uint64_t since = stream->since;
	int count = 0;

	neap_buf_init(&out, NEAP_BUF_REPLY);
	if (stream->full_usec != 0 && mono_usec - stream->full_usec < RETRY_USEC)
		return false;
	while (count < BATCH && since < neap_audit_last(audit)) {
		entry = neap_audit_find_from(audit, since + 1);
		if (!entry)
			break;
		if (entry->seq > since + 1)
			neap_buf_addf(&out, "event: gap\ndata: {\"lost\": %llu}\n\n",
				      (unsigned long long)(entry->seq - since - 1));
		add_event(&out, entry);
		since = entry->seq;
		count++;
	}
	if (count == 0 && mono_usec - stream->spoke_usec > SILENCE_USEC)
		neap_buf_adds(&out, ":\n\n");
	if (out.len == 0 || neap_buf_failed(&out))
		return false;
	/* Over the limit of what waits unread nothing is taken: the same again next time.
	 * A client that never reads is closed, and with it goes the stream. */
	stream->full_usec = mono_usec;
	if (neap_http_stream_send(stream->http, out.data, out.len) != 1)
		return false;
	stream->full_usec = 0;
	stream->since = since;
	stream->spoke_usec = mono_usec;
	return count == BATCH;
}

static void start_stream(struct neap_control_audit *audit,
			 struct neap_http_request *request, uint64_t since)
{
	struct stream *stream = neap_alloc(sizeof(*stream));
	struct neap_error err;

	if (!stream) {
		(void)neap_error_nomem(&err);
		neap_http_answer_error(request, &err);
		return;
	}
	stream->since = since;
	stream->http = neap_http_stream_start_take(request, "text/event-stream",
						   stream_gone, stream);
	if (!stream->http) {
		free(stream);
		return;
	}
	stream->prev = &audit->streams;
	stream->next = audit->streams;
	if (stream->next)
		stream->next->prev = &stream->next;
	audit->streams = stream;
}

void neap_control_audit_poke(struct neap_control_audit *audit, int64_t mono_usec)
{
	const struct neap_audit *ring;
	struct stream *stream, *next;
	const char *why;

	if (!audit->streams || !audit->node.is_ready(audit->node.arg, &why))
		return;
	ring = audit->node.audit(audit->node.arg);
	for (stream = audit->streams; stream; stream = next) {
		next = stream->next;
		while (speak(stream, ring, mono_usec))
			;
	}
}

static void get_audit(void *arg, struct neap_http_request *request)
{
	struct neap_control_audit *audit = arg;
	const struct neap_audit *ring;
	struct neap_error err;
	struct range range;
	const char *why = "";

	if (!audit->node.is_ready(audit->node.arg, &why)) {
		(void)neap_error_set(&err, NEAP_EUNAVAILABLE, "%s", why);
		neap_http_answer_error(request, &err);
		return;
	}
	ring = audit->node.audit(audit->node.arg);
	if (read_range(request, neap_audit_last(ring), &range, &err) < 0)
		neap_http_answer_error(request, &err);
	else if (neap_http_accepts(request, "text/event-stream"))
		start_stream(audit, request, (uint64_t)range.since);
	else
		answer_list(request, ring, &range);
}

static const struct neap_http_route routes[] = {
	{"GET", "/control/v1/audit", NEAP_HTTP_READER, get_audit},
	{0},
};

int neap_control_audit_new(struct neap_http *http, const struct neap_control_node *node,
			   struct neap_control_audit **ret, struct neap_error *err)
{
	struct neap_control_audit *audit = neap_alloc(sizeof(*audit));

	if (!audit)
		return neap_error_nomem(err);
	audit->node = *node;
	if (neap_http_add_routes(http, routes, audit, err) < 0) {
		free(audit);
		return -(int)err->code;
	}
	*ret = audit;
	return 0;
}

void neap_control_audit_free(struct neap_control_audit *audit)
{
	if (!audit)
		return;
	while (audit->streams)
		stream_gone(audit->streams);
	free(audit);
}
