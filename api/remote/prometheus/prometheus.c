/* SPDX-License-Identifier: Apache-2.0 */
#include "api/remote/prometheus/prometheus.h"

#include <event2/event.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

#define PATH "/api/v1/query"
#define FORM "application/x-www-form-urlencoded"
/* Bytes of an answer that says what is wrong. */
#define WRONG_MAX 65536

struct neap_prometheus_query {
	struct neap_prometheus_config config;
	struct neap_transfer *transfer;
	struct event *deadline;
	struct neap_buf body;
};

static void query_free(struct neap_prometheus_query *query)
{
	if (query->deadline)
		event_free(query->deadline);
	neap_buf_done(&query->body);
	free(query);
}

void neap_prometheus_cancel(struct neap_prometheus_query *query)
{
	if (!query)
		return;
	neap_transfer_cancel(query->transfer);
	query_free(query);
}

static void fail(struct neap_prometheus_query *query, const char *why)
{
	const struct neap_prometheus_config config = query->config;

	query_free(query);
	config.told(config.arg, NULL, 0, why);
}

static bool take(void *arg, const char *bytes, size_t len)
{
	struct neap_prometheus_query *query = arg;

	neap_buf_add(&query->body, bytes, len);
	return !neap_buf_failed(&query->body);
}

/* Prometheus says what is wrong with a query in JSON, proxies before it in any form. */
static void refuse(struct neap_prometheus_query *query,
		   const struct neap_transport_answer *answer)
{
	const char *todo = answer->status == 401
				   ? ": it does not know who asks: give a token "
				     "(--prometheus-token, or authToken)"
			   : answer->status == 403 ? ": whose token it is may not query"
			   : answer->status == 404 ? ": is it the URL of a Prometheus?"
						   : "";
	json_t *json = NULL;
	json_error_t where;
	const char *error;
	char text[512];

	if (answer->len <= WRONG_MAX)
		(void)neap_json_parse(answer->body, answer->len, 0, &json, &where);
	error = neap_json_text(json, "error");
	(void)snprintf(text, sizeof(text), "HTTP status %d%s%.300s%s", answer->status,
		       *error ? ": " : "", error, todo);
	json_decref(json);
	neap_utf8_trim(text);
	fail(query, text);
}

static void answered(void *arg, const struct neap_transport_answer *answer)
{
	struct neap_prometheus_query *query = arg;
	const struct neap_prometheus_config config = query->config;
	char *body;
	size_t len = query->body.len;

	query->transfer = NULL;
	if (neap_buf_failed(&query->body)) {
		fail(query, "the answer is too large: the query must give one value for "
			    "each node");
	} else if (answer->status == 0 || *answer->why) {
		fail(query, *answer->why ? answer->why : "there is no answer");
	} else if (answer->status != 200) {
		refuse(query, answer);
	} else {
		body = len ? neap_buf_take(&query->body) : NULL;
		query_free(query);
		config.told(config.arg, body, len, body ? NULL : "the answer is empty");
	}
}

static void too_late(evutil_socket_t fd, short what, void *arg)
{
	struct neap_prometheus_query *query = arg;
	char why[64];

	(void)fd;
	(void)what;
	neap_transfer_cancel(query->transfer);
	(void)snprintf(why, sizeof(why), "there is no answer within %g s",
		       (double)query->config.timeout_usec / 1e6);
	fail(query, why);
}

/* "query=..." as a form has it; the caller frees. NULL without memory. */
static char *form_of(const char *query)
{
	static const char hex[] = "0123456789ABCDEF";
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-._";
	struct neap_buf form;

	neap_buf_init(&form, NEAP_BUF_FILE);
	neap_buf_adds(&form, "query=");
	for (const char *at = query; *at; at++) {
		const unsigned char byte = (unsigned char)*at;

		if (strchr(plain, *at)) {
			neap_buf_addc(&form, *at);
		} else {
			neap_buf_addc(&form, '%');
			neap_buf_addc(&form, hex[byte >> 4]);
			neap_buf_addc(&form, hex[byte & 15]);
		}
	}
	if (neap_buf_failed(&form)) {
		neap_buf_done(&form);
		return NULL;
	}
	return neap_buf_take(&form);
}

int neap_prometheus_ask(const struct neap_prometheus_config *config, const char *query,
			struct neap_prometheus_query **ret, struct neap_error *err)
{
	const struct timeval limit = {.tv_sec = config->timeout_usec / 1000000,
				      .tv_usec = config->timeout_usec % 1000000};
	struct neap_prometheus_query *made = neap_alloc(sizeof(*made));
	struct neap_transport_ask ask = {.method = "POST",
					 .path = PATH,
					 .content_type = FORM,
					 .timeout_usec = config->timeout_usec,
					 .is_impatient = true,
					 .data = take,
					 .done = answered,
					 .arg = made};
	int rc;

	if (!made)
		return neap_error_nomem(err);
	made->config = *config;
	neap_buf_init(&made->body, config->bytes_max);
	made->deadline = event_new(config->base, -1, 0, too_late, made);
	ask.body = form_of(query);
	ask.len = ask.body ? strlen(ask.body) : 0;
	if (!made->deadline || !ask.body || event_add(made->deadline, &limit) < 0) {
		free(ask.body);
		query_free(made);
		return neap_error_nomem(err);
	}
	rc = neap_transport_ask_take(config->transport, &ask, &made->transfer, err);
	if (rc < 0)
		query_free(made);
	else
		*ret = made;
	return rc;
}
