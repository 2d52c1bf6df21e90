/* SPDX-License-Identifier: Apache-2.0
 *
 * /openapi/v2. Built on request, and again after the kinds change. kubectl requests it
 * with nearly every command, with its tag if it has it. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/openapi/openapi.h"
#include "api/kube/read/read.h"
#include "engine/base/mem.h"
#include "engine/base/sha256.h"

/* The type that clients ask for contains "@", which is invalid: they could not read
 * it. */
#define TYPE "application/octet-stream"

static int make(struct neap_kube *kube, struct neap_error *err)
{
	const struct neap_kube_registry *registry = kube->registry;
	size_t count = neap_kube_registry_count(registry);
	const struct neap_kube_kind **kinds =
		neap_alloc_array(count ? count : 1, sizeof(*kinds));
	char hex[NEAP_SHA256_HEX];
	char *text;
	size_t len;
	int ret;

	if (!kinds)
		return neap_error_nomem(err);
	for (size_t i = 0; i < count; i++)
		kinds[i] = neap_kube_registry_at(registry, i);
	ret = neap_kube_openapi(kinds, count, "neap", NEAP_VERSION, &text, &len, err);
	free(kinds);
	if (ret < 0)
		return ret;
	neap_sha256_hex(text, len, hex);
	free(kube->document.text);
	kube->document.text = text;
	kube->document.len = len;
	kube->document.generation = neap_kube_registry_generation(registry);
	(void)snprintf(kube->document.tag, sizeof(kube->document.tag), "\"%.40s\"", hex);
	return 0;
}

void kube_document(struct neap_kube *kube, struct neap_http_request *request)
{
	const struct document *document = &kube->document;
	struct neap_error err;
	const char *has;

	if ((!document->text ||
	     document->generation != neap_kube_registry_generation(kube->registry)) &&
	    make(kube, &err) < 0) {
		neap_http_answer_error(request, &err);
		return;
	}
	/* Without the tag the document is only sent more often. */
	(void)neap_http_header_add(request, "ETag", document->tag);
	has = neap_http_header_find(request, "If-None-Match");
	if (has && strcmp(has, document->tag) == 0)
		neap_http_answer_text(request, 304, TYPE, "", 0);
	else
		neap_http_answer_text(request, 200, TYPE, document->text, document->len);
}
