/* SPDX-License-Identifier: Apache-2.0 */
#include "api/ctl/base/direct.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/remote/kinds.h"
#include "api/remote/transport.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "engine/log/log.h"

#define WAIT_USEC ((int64_t)30 * 1000000)

struct neap_remote_direct {
	struct neap_remote_target *target;
	struct event_base *base;
	struct neap_transport *transport;
	struct neap_log log;
};

/* --- files of credentials --- */

struct files {
	char *ca, *cert, *key, *token; /* NULL: not of a file */
};

static int read_file(const char *path, char **ret, struct neap_error *err)
{
	struct neap_buf text;

	if (path == NULL)
		return 0;
	neap_buf_init(&text, NEAP_BUF_FILE);
	if (neap_file_load(path, &text, err) < 0) {
		neap_buf_done(&text);
		return -(int)err->code;
	}
	*ret = neap_buf_take(&text);
	return *ret != NULL ? 0 : neap_error_nomem(err);
}

static int use_keys(const struct neap_remote_direct *direct, struct files *files,
		    struct neap_error *err)
{
	const struct neap_remote_target *target = direct->target;
	size_t len;

	if (read_file(target->ca_file, &files->ca, err) < 0 ||
	    read_file(target->cert_file, &files->cert, err) < 0 ||
	    read_file(target->key_file, &files->key, err) < 0 ||
	    read_file(target->token_file, &files->token, err) < 0)
		return -(int)err->code;
	len = files->token != NULL ? strlen(files->token) : 0;
	while (len > 0 && strchr(" \t\r\n", files->token[len - 1]) != NULL)
		files->token[--len] = '\0';
	const struct neap_transport_keys keys = {
		.ca = target->ca_data != NULL ? target->ca_data : files->ca,
		.cert = target->cert_data != NULL ? target->cert_data : files->cert,
		.key = target->key_data != NULL ? target->key_data : files->key,
		.token = target->token != NULL ? target->token : files->token,
		.user = target->username,
		.password = target->password};
	return neap_transport_set_keys(direct->transport, &keys, err);
}

static void files_free(struct files *files)
{
	free(files->ca);
	free(files->cert);
	free(files->key);
	free(files->token);
}

/* --- the connection --- */

static int open_transport(struct neap_remote_direct *direct, struct neap_error *err)
{
	const struct neap_remote_target *target = direct->target;
	struct files files = {0};
	char **headers;
	int rc;

	direct->base = event_base_new();
	headers = neap_remote_target_headers(target);
	const struct neap_transport_config config = {
		.base = direct->base,
		.url = target->server,
		.proxy = target->proxy_url,
		.tls_name = target->tls_server_name,
		.is_insecure = target->is_insecure,
		.has_no_compression = target->has_no_compression,
		.headers = (const char *const *)headers,
		.log = &direct->log};
	if (direct->base == NULL || headers == NULL)
		rc = neap_error_nomem(err);
	else
		rc = neap_transport_new(&config, &direct->transport, err);
	neap_remote_target_headers_free(headers);
	if (rc == 0)
		rc = use_keys(direct, &files, err);
	files_free(&files);
	return rc;
}

int neap_remote_direct_new(const struct neap_remote_source *source,
			   struct neap_remote_direct **ret, struct neap_error *err)
{
	struct neap_remote_direct *direct = neap_alloc(sizeof(*direct));

	if (direct == NULL)
		return neap_error_nomem(err);
	direct->log = (struct neap_log){
		.fd = STDERR_FILENO, .level = NEAP_LOG_WARN, .program = "neapctl"};
	if (neap_remote_target_load(source, &direct->target, err) < 0 ||
	    neap_transport_setup(err) < 0 || open_transport(direct, err) < 0) {
		neap_remote_direct_free(direct);
		return -(int)err->code;
	}
	*ret = direct;
	return 0;
}

void neap_remote_direct_free(struct neap_remote_direct *direct)
{
	if (direct == NULL)
		return;
	neap_transport_free(direct->transport);
	if (direct->base != NULL)
		event_base_free(direct->base);
	neap_remote_target_free(direct->target);
	free(direct);
}

const char *neap_remote_direct_server(const struct neap_remote_direct *direct)
{
	return direct->target->server;
}

/* --- a request --- */

struct waiting {
	struct neap_remote_direct *direct;
	int status;
	json_t *json;
	char why[512]; /* of what is no success */
};

static void answered(void *arg, const struct neap_transport_answer *answer)
{
	struct waiting *waiting = arg;
	struct neap_error err = {0};

	waiting->status = answer->status;
	if (answer->status != 0)
		(void)neap_remote_parse(answer->body, answer->len, &waiting->json, &err);
	if (answer->status < 200 || answer->status > 299)
		(void)neap_remote_why(answer, waiting->why, sizeof(waiting->why));
	(void)event_base_loopbreak(waiting->direct->base);
}

static enum neap_code code_of(int status)
{
	static const enum neap_code codes[] = {
		NEAP_EAUTH,     NEAP_EFORBIDDEN,   NEAP_ENOTFOUND, NEAP_ECONFLICT,
		NEAP_ETOOLARGE, NEAP_EUNAVAILABLE, NEAP_EINVAL};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(codes); i++)
		if (neap_code_http(codes[i]) == status)
			return codes[i];
	return status == 0 ? NEAP_EUNAVAILABLE : NEAP_EINTERNAL;
}

int neap_remote_direct_send(struct neap_remote_direct *direct,
			    const struct neap_remote_direct_ask *ask, int *ret_status,
			    json_t **ret_json, struct neap_error *err)
{
	struct waiting waiting = {.direct = direct, .status = -1};
	struct neap_transport_ask request = {
		.method = ask->method,
		.path = ask->path,
		.content_type = ask->type,
		.body = ask->body != NULL ? neap_strdup(ask->body) : NULL,
		.len = ask->body != NULL ? strlen(ask->body) : 0,
		.timeout_usec = WAIT_USEC,
		.done = answered,
		.arg = &waiting};

	if (ask->body != NULL && request.body == NULL)
		return neap_error_nomem(err);
	if (neap_transport_ask_take(direct->transport, &request, NULL, err) < 0)
		return -(int)err->code;
	while (waiting.status < 0)
		if (event_base_dispatch(direct->base) != 0)
			return neap_error_set(err, NEAP_EINTERNAL,
					      "the event loop has ended");
	*ret_status = waiting.status;
	*ret_json = waiting.json;
	if (waiting.status >= 200 && waiting.status <= 299)
		return 0;
	return neap_error_set(err, code_of(waiting.status), "%s: %s",
			      direct->target->server, waiting.why);
}
