/* SPDX-License-Identifier: Apache-2.0
 *
 * The explanation of a pod without a node, in kube-scheduler's words and order: each
 * reason with its number of nodes, sorted as text. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/decide/decide_priv.h"

#define REASON_BYTES 640
/* NUMA texts are long and may change with each attempt. Text beyond this total, which is
 * written for every waiting pod, is shared equally, with a minimum for each; there are
 * not many more. */
#define TEXTS_WHOLE 8192
#define TEXT_SHARE  255
#define TEXTS_MAX   16384

static const char *resource_name(const struct neap_decide *decide, uint32_t arg)
{
	const struct neap_pod *pod =
		neap_decide_cycle((struct neap_decide *)(uintptr_t)decide)->pod;

	if (arg < NEAP_RESOURCES_MAX)
		return neap_resources_name(
			neap_cluster_resources(neap_decide_cluster(decide)), arg);
	return arg - NEAP_RESOURCES_MAX < pod->unknown_count
		       ? pod->unknown[arg - NEAP_RESOURCES_MAX].name
		       : "";
}

const char *neap_decide_reason(const struct neap_decide *decide, uint32_t code, char *buf,
			       size_t size)
{
	uint32_t reason = code >> NEAP_REASON_SHIFT, arg = code & NEAP_REASON_ARG;
	struct neap_cluster *cluster = neap_decide_cluster(decide);
	const struct neap_taint *taint;
	const char *text;

	if (reason >= NEAP_REASON_COUNT)
		return "";
	switch (reason) {
	case NEAP_REASON_TAINT:
		taint = neap_cluster_taint(cluster, arg);
		(void)snprintf(buf, size, neap_reasons[reason].text,
			       taint ? taint->key : "", taint ? taint->value : "");
		return buf;
	case NEAP_REASON_INSUFFICIENT:
		(void)snprintf(buf, size, neap_reasons[reason].text,
			       resource_name(decide, arg));
		return buf;
	case NEAP_REASON_POD:
		return neap_decide_stop(decide) ? neap_decide_stop(decide) : "";
	case NEAP_REASON_LOAD:
	case NEAP_REASON_LOAD_AGGREGATED:
		if (arg >= NEAP_LOAD_NAMES_MAX)
			return "";
		(void)snprintf(buf, size, neap_reasons[reason].text,
			       neap_cluster_load(cluster)->args.names[arg]);
		return buf;
	case NEAP_REASON_CPUS:
	case NEAP_REASON_CPUS_ROOM:
	case NEAP_REASON_KEPT:
	case NEAP_REASON_KEPT_ROOM:
		text = neap_decide_text(decide, arg);
		return text ? text : neap_reasons[reason].text;
	case NEAP_REASON_MORE:
		return neap_more_reason(decide, arg);
	default:
		return neap_reasons[reason].text;
	}
}

bool neap_decide_can_help(uint32_t code)
{
	uint32_t reason = code >> NEAP_REASON_SHIFT;

	return reason < NEAP_REASON_COUNT && neap_reasons[reason].can_help;
}

static int by_code(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

struct counted {
	char *text;
	size_t count;
};

static int by_text(const void *a, const void *b)
{
	const struct counted *x = a, *y = b;

	return strcmp(x->text, y->text);
}

/* Texts of codes, which are sorted; those without memory are left out. Different codes
 * may have one text: two effects of a taint. */
static size_t name_codes(const struct neap_decide *decide, const uint32_t *codes,
			 size_t count, struct counted *ret)
{
	char buf[REASON_BYTES];
	size_t named = 0, kept = 0;

	for (size_t i = 0; i < count;) {
		size_t end = i;

		while (end < count && codes[end] == codes[i])
			end++;
		ret[named] =
			(struct counted){neap_strdup(neap_decide_reason(
						 decide, codes[i], buf, sizeof(buf))),
					 end - i};
		named += ret[named].text != NULL;
		i = end;
	}
	qsort(ret, named, sizeof(*ret), by_text);
	for (size_t i = 0; i < named; i++) {
		if (!kept || strcmp(ret[kept - 1].text, ret[i].text) != 0) {
			ret[kept++] = ret[i];
		} else {
			ret[kept - 1].count += ret[i].count;
			free(ret[i].text);
		}
	}
	return kept;
}

/* The number is part of the sorted text. */
static void put_counts(struct counted *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *text = neap_asprintf("%zu %s", list[i].count, list[i].text);

		if (!text)
			continue;
		free(list[i].text);
		list[i].text = text;
	}
	qsort(list, count, sizeof(*list), by_text);
}

void neap_decide_explain(const struct neap_decide *decide, struct neap_buf *out)
{
	neap_decide_explain_claims(decide, 0, NULL, out);
}

static void put_texts(const struct counted *texts, size_t count, struct neap_buf *out)
{
	size_t all = 0, share = SIZE_MAX;

	for (size_t i = 0; i < count; i++)
		all += strlen(texts[i].text);
	if (count > 1 && all > TEXTS_WHOLE)
		share = TEXTS_WHOLE / count > TEXT_SHARE ? TEXTS_WHOLE / count
							 : TEXT_SHARE;
	for (size_t i = 0; i < count; i++) {
		const char *text = texts[i].text;

		if (out->len > TEXTS_MAX) {
			neap_buf_addf(out, ", and %zu more reasons", count - i);
			break;
		}
		neap_buf_adds(out, i ? ", " : " ");
		if (strlen(text) > share)
			neap_buf_addf(out, "%.*s...", (int)share, text);
		else
			neap_buf_adds(out, text);
	}
	if (count)
		neap_buf_addc(out, '.');
}

void neap_decide_explain_claims(const struct neap_decide *decide, size_t claims,
				const char *why, struct neap_buf *out)
{
	size_t count, told = 0, nodes = neap_decide_nodes(decide);
	const struct neap_refusal *refusals = neap_decide_refusals(decide, &count);
	neap_auto_free uint32_t *codes = neap_alloc_array(count, sizeof(*codes));
	struct counted *texts = neap_alloc_array(count + 1, sizeof(*texts));

	if (!nodes) {
		neap_buf_adds(out, "no nodes available to schedule pods");
	} else {
		neap_buf_addf(out, "0/%zu nodes are available:", nodes);
		for (size_t i = 0; codes && i < count; i++)
			codes[i] = refusals[i].code;
		if (neap_decide_stop(decide)) {
			neap_buf_addf(out, " %s.", neap_decide_stop(decide));
		} else if (codes && texts) {
			qsort(codes, count, sizeof(*codes), by_code);
			told = name_codes(decide, codes, count, texts);
			texts[told] = (struct counted){claims ? neap_strdup(why) : NULL,
						       claims};
			told += texts[told].text != NULL;
			put_counts(texts, told);
		}
		put_texts(texts, told, out);
		if (neap_decide_end(decide))
			neap_buf_addf(out, " preemption: %s", neap_decide_end(decide));
	}
	for (size_t i = 0; i < told; i++)
		free(texts[i].text);
	free(texts);
}
