/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers: names and whole nodes are copied from the request with their quotes; the text
 * of each reason is built once. */
#include <string.h>

#include "api/extender/extender_priv.h"

#define REASON_BYTES 640
/* Limit on the text of an answer: one reason per node, longer than REASON_BYTES when
 * nodes are few. */
#define WORDS_BYTES (NEAP_BUF_REPLY / 8)
/* Distinct reasons whose text is cached; others are built each time. */
#define REASONS_KEPT 32
#define UNKNOWN      "\"node(s) were not known to neap\""

struct reasons {
	const struct neap_decide *decide;
	struct {
		uint32_t code;
		struct neap_buf text; /* as it stands in quotes */
	} of[REASONS_KEPT];
	size_t count, next;
	size_t len_max;
};

static bool needs_escape(char c)
{
	return c == '"' || c == '\\';
}

static char printable(char c)
{
	return (unsigned char)c < ' ' ? ' ' : c;
}

void answer_trouble(const char *text, struct neap_buf *out)
{
	neap_buf_adds(out, "{\"Error\":\"");
	for (; *text; text++) {
		if (needs_escape(*text))
			neap_buf_addc(out, '\\');
		if (*text == '%')
			neap_buf_addc(out, '%');
		neap_buf_addc(out, printable(*text));
	}
	neap_buf_adds(out, "\"}\n");
}

/* The quotes around a piece belong to it. */
static void add_quoted(struct neap_buf *out, const struct neap_text *text)
{
	neap_buf_add(out, text->at - 1, text->len + 2);
}

/* Bytes of all names with their quotes. */
static size_t names_len(const struct neap_extender_args *args)
{
	size_t len = 2 * args->count;

	for (size_t i = 0; i < args->count; i++)
		len += args->names[i].len;
	return len;
}

static char *put(char *at, const char *text, size_t len)
{
	memcpy(at, text, len);
	return at + len;
}

static char *put_quoted(char *at, const struct neap_text *text)
{
	return put(at, text->at - 1, text->len + 2);
}

static const char *reason(struct reasons *reasons, uint32_t code)
{
	char buf[REASON_BYTES];
	struct neap_buf *to;
	const char *text;
	size_t at;

	for (size_t i = 0; i < reasons->count; i++)
		if (reasons->of[i].code == code)
			return reasons->of[i].text.data;
	at = reasons->next++ % REASONS_KEPT;
	to = &reasons->of[at].text;
	if (reasons->count < REASONS_KEPT) {
		reasons->count++;
		neap_buf_init(to, NEAP_BUF_LINE);
	}
	neap_buf_clear(to);
	reasons->of[at].code = code;
	text = neap_decide_reason(reasons->decide, code, buf, sizeof(buf));
	for (size_t i = 0; i < reasons->len_max && text[i]; i++) {
		char escaped[] = {'\\', printable(text[i])};
		bool needs = needs_escape(text[i]);

		/* Both or none, where the buffer ends. */
		neap_buf_add(to, escaped + !needs, 1 + (size_t)needs);
	}
	return to->data;
}

void answer_take(struct neap_http_request *request, struct neap_buf *out)
{
	size_t len = out->len;
	struct neap_error err;
	char *text = neap_buf_take(out);

	if (text) {
		neap_http_answer_text_take(request, 200, "application/json", text, len);
		return;
	}
	(void)neap_error_nomem(&err);
	neap_http_answer_error(request, &err);
}

void answer_malformed(struct neap_http_request *request, const struct neap_error *err)
{
	neap_http_answer_problem_take(request, err->code == NEAP_EINVAL ? 400 : 503, err,
				      NULL);
}

enum which { ALL, FINAL };

/* A map of refused nodes; FINAL: those where no pod's going helps. */
static void add_refused(const struct question *question, struct reasons *reasons,
			enum which which, struct neap_buf *out)
{
	size_t count, at = 0, told = 0;
	const struct neap_refusal *refusals =
		neap_decide_refusals(question->view.decide, &count);

	neap_buf_addc(out, '{');
	for (size_t i = 0; i < question->args.count; i++) {
		uint32_t row = question->rows[i];
		size_t end = at;
		bool may_help = false;

		if (row != EXTENDER_NO_ROW && (at == count || refusals[at].row != row))
			continue;
		may_help = row != EXTENDER_NO_ROW;
		while (end < count && refusals[end].row == row)
			may_help &= neap_decide_can_help(refusals[end++].code);
		if (which == ALL || !may_help) {
			if (told++)
				neap_buf_addc(out, ',');
			add_quoted(out, &question->args.names[i]);
			neap_buf_adds(out, row == EXTENDER_NO_ROW ? ":" UNKNOWN : ":\"");
			for (size_t n = at; n < end; n++) {
				neap_buf_adds(out, n > at ? ", " : "");
				neap_buf_adds(out, reason(reasons, refusals[n].code));
			}
			if (row != EXTENDER_NO_ROW)
				neap_buf_addc(out, '"');
		}
		at = end;
	}
	neap_buf_addc(out, '}');
}

/* Writes the feasible names. Names that follow each other in the request, separated by
 * just a comma, are copied as one piece. */
static void add_names(const struct question *question, const struct neap_verdict *verdict,
		      struct neap_buf *out)
{
	const struct neap_extender_args *args = &question->args;
	const char *start = NULL, *end = NULL;
	size_t at = 0;

	for (size_t i = 0; at < verdict->count && i < args->count; i++) {
		const struct neap_text *name = &args->names[i];

		if (question->rows[i] != verdict->rows[at])
			continue;
		at++;
		if (!end || name->at - 1 != end + 1 || *end != ',') {
			if (end) {
				neap_buf_add(out, start, (size_t)(end - start));
				neap_buf_addc(out, ',');
			}
			start = name->at - 1;
		}
		end = name->at + name->len + 1;
	}
	if (end)
		neap_buf_add(out, start, (size_t)(end - start));
}

static void add_whole(const struct question *question, const struct neap_verdict *verdict,
		      struct neap_buf *out)
{
	const struct neap_extender_args *args = &question->args;
	size_t at = 0;

	for (size_t i = 0; at < verdict->count && i < args->count; i++) {
		const struct neap_text *whole = &args->nodes[i].whole;

		if (question->rows[i] != verdict->rows[at])
			continue;
		if (at++)
			neap_buf_addc(out, ',');
		neap_buf_add(out, whole->at, whole->len);
	}
}

void answer_filter(const struct question *question, const struct neap_verdict *verdict,
		   struct neap_buf *out)
{
	const struct neap_extender_args *args = &question->args;
	struct reasons reasons;
	size_t start;

	reasons.decide = question->view.decide;
	reasons.count = reasons.next = 0;
	reasons.len_max = WORDS_BYTES / (args->count + 1);
	if (reasons.len_max < REASON_BYTES)
		reasons.len_max = REASON_BYTES - 1;
	/* A growing text is copied repeatedly: this is usually enough. */
	(void)neap_buf_room(out, 256 + names_len(args) + args->count);
	if (args->is_whole) {
		neap_buf_adds(out, "{\"Nodes\":{\"items\":[");
		add_whole(question, verdict, out);
		neap_buf_adds(out, "]},\"NodeNames\":null");
	} else {
		neap_buf_adds(out, "{\"Nodes\":null,\"NodeNames\":[");
		start = out->len;
		add_names(question, verdict, out);
		if (!neap_buf_failed(out))
			likely_keep(&question->extender->likely, question, verdict,
				    out->data + start, out->len - start);
		neap_buf_addc(out, ']');
	}
	neap_buf_adds(out, ",\"FailedNodes\":");
	add_refused(question, &reasons, ALL, out);
	neap_buf_adds(out, ",\"FailedAndUnresolvableNodes\":");
	add_refused(question, &reasons, FINAL, out);
	neap_buf_adds(out, ",\"Error\":\"\"}\n");
	for (size_t i = 0; i < reasons.count; i++)
		neap_buf_done(&reasons.of[i].text);
}

/* Every possible text after a name, all of equal length except the last. */
static const char scores[NEAP_EXTENDER_SCORE_MAX + 1][16] = {
	",\"Score\":0}", ",\"Score\":1}", ",\"Score\":2}", ",\"Score\":3}",
	",\"Score\":4}", ",\"Score\":5}", ",\"Score\":6}", ",\"Score\":7}",
	",\"Score\":8}", ",\"Score\":9}", ",\"Score\":10}"};
#define HOST "{\"Host\":"

/* kube-scheduler gives 0 points to a node that the answer leaves out. The answer lists
 * only nodes with points, as kube-scheduler takes longer to read a list than neap takes
 * to write it. Where all nodes have the same points the list is empty. */
void answer_prioritize(const struct question *question,
		       const struct neap_verdict *verdict, struct neap_buf *out)
{
	const struct neap_extender_args *args = &question->args;
	size_t count = verdict ? verdict->count : 0;
	int64_t least = count ? verdict->scores[0] : 0, most = least;
	size_t at = 0;
	char *to;

	for (size_t i = 1; i < count; i++) {
		int64_t score = verdict->scores[i];

		least = score < least ? score : least;
		most = score > most ? score : most;
	}
	if (!count || (most == least && count == args->count)) {
		neap_buf_adds(out, "[]\n");
		return;
	}
	to = neap_buf_room(out, names_len(args) +
					args->count * (sizeof(HOST) + sizeof(scores[0])) +
					4);
	if (!to)
		return;
	*to = '[';
	for (size_t i = 0; i < args->count; i++) {
		int64_t score;

		if (question->rows[i] == EXTENDER_NO_ROW)
			continue;
		score = most == least
				? NEAP_EXTENDER_SCORE_MAX
				: NEAP_EXTENDER_SCORE_MAX *
					  (verdict->scores[at] - least) / (most - least);
		at++;
		if (!score)
			continue;
		to = put(to + 1, HOST, sizeof(HOST) - 1);
		to = put_quoted(to, &args->names[i]);
		/* Copies a fixed size, whatever the number: a single move. */
		memcpy(to, scores[score], sizeof(scores[score]));
		to += sizeof(",\"Score\":0}") - (score < NEAP_EXTENDER_SCORE_MAX ? 1 : 0);
		*to = ',';
	}
	/* In place of the last comma: the best node has points. */
	to = put(to, "]\n", 2);
	neap_buf_added(out, to);
}

void answer_victims(const struct question *question, size_t index, struct neap_buf *out)
{
	const struct neap_extender_node *node = &question->args.nodes[index];

	add_quoted(out, &question->args.names[index]);
	neap_buf_adds(out, ":{\"Pods\":[");
	for (size_t i = 0; i < node->victim_count; i++) {
		neap_buf_adds(out, i ? ",{\"UID\":" : "{\"UID\":");
		add_quoted(out, &question->args.victims[node->victims + i]);
		neap_buf_addc(out, '}');
	}
	neap_buf_adds(out, "],\"NumPDBViolations\":");
	if (node->violations.at)
		neap_buf_add(out, node->violations.at, node->violations.len);
	else
		neap_buf_addc(out, '0');
	neap_buf_addc(out, '}');
}
