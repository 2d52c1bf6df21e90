/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers: names and whole nodes are copied from the request as they stand there, with their quotes, the words for a
 * reason are made once. */
#include <string.h>

#include "api/extender/extender_priv.h"

#define REASON_BYTES 640
/* Different reasons whose words are kept; more of them are made anew. */
#define REASONS_KEPT 32
#define UNKNOWN      "\"node(s) were not known to neap\""

struct reasons {
	const struct neap_decide *decide;
	struct {
		uint32_t code;
		char text[REASON_BYTES];
	} of[REASONS_KEPT];
	size_t count, next;
};

/* Inside quotes. */
static void add_escaped(struct neap_buf *out, const char *text, bool doubles_percent)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			neap_buf_addc(out, '\\');
		if (*text == '%' && doubles_percent)
			neap_buf_addc(out, '%');
		neap_buf_addc(out, (unsigned char)*text < ' ' ? ' ' : *text);
	}
}

void answer_trouble(const char *text, struct neap_buf *out)
{
	neap_buf_adds(out, "{\"Error\":\"");
	add_escaped(out, text, true);
	neap_buf_adds(out, "\"}\n");
}

/* The quotes around a piece belong to it. */
static void add_quoted(struct neap_buf *out, const struct neap_text *text)
{
	neap_buf_add(out, text->at - 1, text->len + 2);
}

/* Names are mostly not longer. */
#define NAME_USUAL 64

/* For an answer with each name, and so much more a name: a text that grows is copied again and again. What does not fit
 * grows. */
static void make_room(const struct question *question, size_t more, struct neap_buf *out)
{
	const struct neap_extender_args *args = &question->args;
	size_t len = args->count ? args->nodes[args->count - 1].name.len : 0;

	len = len < NAME_USUAL ? len : NAME_USUAL;
	(void)neap_buf_room(out, 256 + args->count * (len + 4 + more));
}

/* before, a constant, then the piece with its quotes, then after, another: one look at the room for all three. */
#define ADD_NAMED(out, before, text, after)                                              \
	add_named(out, before, sizeof(before) - 1, text, after, sizeof(after) - 1)
static inline void add_named(struct neap_buf *out, const char *before, size_t before_len,
			     const struct neap_text *text, const char *after,
			     size_t after_len)
{
	char *at = neap_buf_room(out, before_len + text->len + 2 + after_len);

	if (!at)
		return;
	memcpy(at, before, before_len);
	at += before_len;
	memcpy(at, text->at - 1, text->len + 2);
	at += text->len + 2;
	memcpy(at, after, after_len);
	neap_buf_added(out, at + after_len);
}

static const char *reason(struct reasons *reasons, uint32_t code)
{
	char buf[REASON_BYTES];
	size_t at;

	for (size_t i = 0; i < reasons->count; i++)
		if (reasons->of[i].code == code)
			return reasons->of[i].text;
	at = reasons->next++ % REASONS_KEPT;
	if (reasons->count < REASONS_KEPT)
		reasons->count++;
	reasons->of[at].code = code;
	(void)snprintf(reasons->of[at].text, sizeof(reasons->of[at].text), "%s",
		       neap_decide_reason(reasons->decide, code, buf, sizeof(buf)));
	return reasons->of[at].text;
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
		size_t end = at;
		bool may_help = true;

		if (question->rows[i] == EXTENDER_NO_ROW) {
			neap_buf_adds(out, told++ ? "," : "");
			ADD_NAMED(out, "", &question->args.nodes[i].name, ":" UNKNOWN);
			continue;
		}
		while (end < count && refusals[end].row == question->rows[i])
			may_help &= neap_decide_can_help(refusals[end++].code);
		if (end > at && (which == ALL || !may_help)) {
			neap_buf_adds(out, told++ ? "," : "");
			ADD_NAMED(out, "", &question->args.nodes[i].name, ":\"");
			for (size_t n = at; n < end; n++) {
				neap_buf_adds(out, n > at ? ", " : "");
				add_escaped(out, reason(reasons, refusals[n].code),
					    false);
			}
			neap_buf_addc(out, '"');
		}
		at = end;
	}
	neap_buf_addc(out, '}');
}

void answer_filter(const struct question *question, const struct neap_verdict *verdict,
		   struct neap_buf *out)
{
	struct reasons reasons;
	size_t at = 0;

	reasons.decide = question->view.decide;
	reasons.count = reasons.next = 0;
	make_room(question, 0, out);
	neap_buf_adds(out, question->args.is_whole ? "{\"Nodes\":{\"items\":["
						   : "{\"Nodes\":null,\"NodeNames\":[");
	for (size_t i = 0; at < verdict->count && i < question->args.count; i++) {
		const struct neap_extender_node *node = &question->args.nodes[i];

		if (question->rows[i] != verdict->rows[at])
			continue;
		if (!at++) {
			if (!question->args.is_whole)
				add_quoted(out, &node->name);
		} else if (!question->args.is_whole) {
			ADD_NAMED(out, ",", &node->name, "");
		} else {
			neap_buf_addc(out, ',');
		}
		if (question->args.is_whole)
			neap_buf_add(out, node->whole.at, node->whole.len);
	}
	neap_buf_adds(out, question->args.is_whole ? "]},\"NodeNames\":null" : "]");
	neap_buf_adds(out, ",\"FailedNodes\":");
	add_refused(question, &reasons, ALL, out);
	neap_buf_adds(out, ",\"FailedAndUnresolvableNodes\":");
	add_refused(question, &reasons, FINAL, out);
	neap_buf_adds(out, ",\"Error\":\"\"}\n");
}

/* All that can stand behind a name, alike in length but for the last. */
static const char scores[NEAP_EXTENDER_SCORE_MAX + 1][16] = {
	",\"Score\":0}", ",\"Score\":1}", ",\"Score\":2}", ",\"Score\":3}",
	",\"Score\":4}", ",\"Score\":5}", ",\"Score\":6}", ",\"Score\":7}",
	",\"Score\":8}", ",\"Score\":9}", ",\"Score\":10}"};
#define HOST ",{\"Host\":"

void answer_prioritize(const struct question *question,
		       const struct neap_verdict *verdict, struct neap_buf *out)
{
	int64_t least = verdict->count ? verdict->scores[0] : 0, most = least;
	size_t at = 0;

	for (size_t i = 1; i < verdict->count; i++) {
		int64_t score = verdict->scores[i];

		least = score < least ? score : least;
		most = score > most ? score : most;
	}
	make_room(question, sizeof(HOST) + sizeof(scores[0]), out);
	neap_buf_addc(out, '[');
	for (size_t i = 0; i < question->args.count; i++) {
		int64_t score = 0;

		if (question->rows[i] != EXTENDER_NO_ROW) {
			score = most == least ? NEAP_EXTENDER_SCORE_MAX
					      : NEAP_EXTENDER_SCORE_MAX *
							(verdict->scores[at] - least) /
							(most - least);
			at++;
		}
		/* The first has no comma before it. */
		add_named(out, i ? HOST : &HOST[1], sizeof(HOST) - (i ? 1 : 2),
			  &question->args.nodes[i].name, scores[score],
			  sizeof(",\"Score\":0}") - (score < 10 ? 1 : 0));
	}
	neap_buf_adds(out, "]\n");
}

void answer_victims(const struct question *question,
		    const struct neap_extender_node *node, struct neap_buf *out)
{
	add_quoted(out, &node->name);
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
