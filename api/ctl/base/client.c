/* SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP client of neapctl, on libcurl. */
#include "api/ctl/base/client.h"

#include <curl/curl.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "api/ctl/base/find.h"
#include "api/ctl/base/secure.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

#define CONNECT_MSEC 5000L
#define GET_MSEC     10000L
/* Groups are made, policies are proved and values written before the answer, and kernels
 * can take their time. */
#define CHANGE_MSEC   60000L
#define URL_MAX_BYTES 512
#define HEADER_MAX    (NEAP_TOKEN_MAX + 64)
#define EVENT_MAX     ((size_t)64 * 1024) /* one line of an event stream */

struct neap_client {
	CURL *curl;
	struct curl_slist *headers; /* of the present call */
	struct neap_buf reply;
	const struct neap_ctl *ctl;
	char base[128]; /* "http://ADDR:PORT" */
	char detail[CURL_ERROR_SIZE];
	const char *where;
	char auth[HEADER_MAX]; /* "" without a token */
	char etag[NEAP_CLIENT_ETAG];
	bool is_unix, is_absent;
	bool may_turn;   /* nothing says where neapd is: TCP comes behind the socket */
	bool has_turned; /* and has come */
};

struct stream {
	struct neap_client *client;
	struct neap_buf line;
	bool (*add)(void *arg, const char *text);
	void *arg;
	bool is_ended, is_other, is_known;
};

static size_t reply_add(char *data, size_t size, size_t count, void *arg)
{
	struct neap_client *client = arg;

	neap_buf_add(&client->reply, data, size * count);
	return neap_buf_failed(&client->reply) ? 0 : size * count;
}

/* Keeps the ETag: the text between the quotes. */
static size_t header_read(char *data, size_t size, size_t count, void *arg)
{
	struct neap_client *client = arg;
	size_t len = size * count;
	const char *from, *to;

	if (len < 5 || strncasecmp(data, "etag:", 5) != 0)
		return len;
	from = memchr(data, '"', len);
	to = from == NULL ? NULL : memchr(from + 1, '"', len - (size_t)(from + 1 - data));
	if (to != NULL && (size_t)(to - from) <= sizeof(client->etag)) {
		memcpy(client->etag, from + 1, (size_t)(to - from - 1));
		client->etag[to - from - 1] = '\0';
	}
	return len;
}

/* Environment variables of libcurl (proxies) never lead elsewhere. */
static bool curl_prepare(struct neap_client *client)
{
	CURL *curl = client->curl;

	return curl_easy_setopt(curl, CURLOPT_PROXY, "") == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, client->detail) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MSEC) ==
		       CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, header_read) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_HEADERDATA, client) == CURLE_OK;
}

/* From now on this socket, or with NULL this address and the token for it. */
static int go_to(struct neap_client *client, const char *path, const char *server,
		 const char *token, struct neap_error *err)
{
	client->is_unix = path != NULL;
	client->where = path != NULL ? path : server;
	if (curl_easy_setopt(client->curl, CURLOPT_UNIX_SOCKET_PATH, path) != CURLE_OK)
		return neap_error_nomem(err);
	if ((server != NULL && neap_secure_check(server, err) < 0) ||
	    neap_secure_prepare(client->curl, client->ctl, server, err) < 0)
		return -(int)err->code;
	if (snprintf(client->base, sizeof(client->base), "http%s://%s",
		     server != NULL && neap_secure_is_https(server) ? "s" : "",
		     server != NULL ? neap_secure_host(server) : "localhost") >=
	    (int)sizeof(client->base))
		return neap_error_field(err, NEAP_EINVAL, "--server",
					"'%.64s...' is too long for ADDR:PORT", server);
	client->auth[0] = '\0';
	if (path == NULL && *token)
		(void)snprintf(client->auth, sizeof(client->auth),
			       "Authorization: Bearer %s", token);
	return 0;
}

static int client_fill(struct neap_client *client, const struct neap_ctl *ctl,
		       struct neap_error *err)
{
	struct neap_token token;
	int r;

	client->ctl = ctl;
	client->may_turn = ctl->server == NULL && !ctl->is_socket_given;
	client->curl = curl_easy_init();
	if (client->curl == NULL || !curl_prepare(client))
		return neap_error_nomem(err);
	if (ctl->server == NULL)
		return go_to(client, ctl->socket, NULL, NULL, err);
	r = neap_token_find(ctl, &token, err);
	if (r < 0)
		return r;
	return go_to(client, NULL, ctl->server, token.text, err);
}

int neap_client_new(const struct neap_ctl *ctl, struct neap_client **ret,
		    struct neap_error *err)
{
	struct neap_client *client = neap_alloc(sizeof(*client));
	int r;

	if (client == NULL)
		return neap_error_nomem(err);
	neap_buf_init(&client->reply, NEAP_BUF_REPLY);
	r = client_fill(client, ctl, err);
	if (r < 0) {
		neap_client_free(client);
		return r;
	}
	*ret = client;
	return 0;
}

void neap_client_free(struct neap_client *client)
{
	if (client == NULL)
		return;
	if (client->curl != NULL)
		curl_easy_cleanup(client->curl);
	curl_slist_free_all(client->headers);
	neap_buf_done(&client->reply);
	free(client);
}

static int absent(struct neap_client *client, long number, struct neap_error *err)
{
	int r;

	client->is_absent = true;
	r = neap_error_set(err, NEAP_EUNAVAILABLE,
			   "no neapd answers at %s%s%s: start it with 'make run' or "
			   "'neapd'",
			   client->has_turned ? client->ctl->socket : client->where,
			   client->has_turned ? " or " : "",
			   client->has_turned ? client->where : "");
	err->errnum = number > 0 ? (int)number : ECONNREFUSED;
	return r;
}

static int failure(struct neap_client *client, CURLcode code, struct neap_error *err)
{
	long number = 0;
	int r;

	if (!client->is_unix && neap_secure_explain(client->ctl, code, client->detail,
						    client->where, err) < 0)
		return -(int)err->code;
	(void)curl_easy_getinfo(client->curl, CURLINFO_OS_ERRNO, &number);
	if (client->is_unix && (number == EACCES || number == EPERM))
		return neap_error_set(err, NEAP_EFORBIDDEN,
				      "%s: permission denied: run it with sudo",
				      client->where);
	if (code == CURLE_COULDNT_CONNECT)
		return absent(client, number, err);
	if (code == CURLE_OPERATION_TIMEDOUT) {
		r = neap_error_set(err, NEAP_EUNAVAILABLE,
				   "neapd at %s gave no answer in time", client->where);
		err->errnum = ETIMEDOUT;
		return r;
	}
	if (code == CURLE_WRITE_ERROR)
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "the answer of %s is too large", client->where);
	if (code == CURLE_OUT_OF_MEMORY)
		return neap_error_nomem(err);
	return neap_error_set(err, NEAP_EUNAVAILABLE, "%s: %s", client->where,
			      curl_easy_strerror(code));
}

static enum neap_code code_of(long status)
{
	static const enum neap_code codes[] = {
		NEAP_EAUTH,     NEAP_EFORBIDDEN,   NEAP_ENOTFOUND, NEAP_ECONFLICT,
		NEAP_ETOOLARGE, NEAP_EUNAVAILABLE, NEAP_EINVAL};
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(codes); i++)
		if (neap_code_http(codes[i]) == status)
			return codes[i];
	return NEAP_EINTERNAL;
}

static int refusal(struct neap_client *client, long status, const json_t *body,
		   struct neap_error *err)
{
	const char *message = json_string_value(json_object_get(body, "message"));
	const char *field = json_string_value(json_object_get(body, "field"));
	enum neap_code code = code_of(status);
	bool is_forbidden = code == NEAP_EAUTH || code == NEAP_EFORBIDDEN;
	const char *hint = "";

	if (is_forbidden && client->is_unix && geteuid() != 0 &&
	    (message == NULL || strstr(message, "sudo") == NULL))
		hint = client->may_turn
			       ? "; try it with sudo, or name its token with --token-file"
			       : "; try it with sudo";
	if (message != NULL && strncmp(message, "TLS is spoken here", 18) == 0)
		return neap_error_set(
			err, NEAP_EINVAL,
			"%s speaks TLS, not plain HTTP: ask it with --server "
			"https://%s and --cacert FILE",
			client->where, neap_secure_host(client->where));
	if (code == NEAP_EAUTH && !client->is_unix &&
	    (message == NULL || strstr(message, "token") == NULL))
		hint = "; name the daemon's token with --token-file";
	if (message == NULL)
		return neap_error_set(err, code, "%s answers with status %ld%s",
				      client->where, status, hint);
	return neap_error_field(err, code, field != NULL ? field : "", "%.200s%s",
				message, hint);
}

static bool header_add(struct neap_client *client, const char *line)
{
	struct curl_slist *more = curl_slist_append(client->headers, line);

	if (more != NULL)
		client->headers = more;
	return more != NULL;
}

/* value may be NULL: without this header. */
static bool header_addf(struct neap_client *client, const char *fmt, const char *value)
{
	char line[HEADER_MAX];

	if (value == NULL)
		return true;
	if (snprintf(line, sizeof(line), fmt, value) >= (int)sizeof(line))
		return false;
	return header_add(client, line);
}

static bool headers_set(struct neap_client *client,
			const struct neap_client_request *request)
{
	bool is_any = request->if_match != NULL && strcmp(request->if_match, "*") == 0;

	curl_slist_free_all(client->headers);
	client->headers = NULL;
	/* No pause of "Expect: 100-continue" before a body. */
	return header_add(client, "Expect:") &&
	       header_addf(client, "%s", client->auth[0] ? client->auth : NULL) &&
	       header_addf(client, "Content-Type: %s",
			   request->type != NULL ? request->type : "application/json") &&
	       header_addf(client, "Accept: %s", request->accept) &&
	       header_addf(client, is_any ? "If-Match: %s" : "If-Match: \"%s\"",
			   request->if_match) &&
	       curl_easy_setopt(client->curl, CURLOPT_HTTPHEADER, client->headers) ==
		       CURLE_OK;
}

static bool url_set(struct neap_client *client, const char *path)
{
	char url[URL_MAX_BYTES];

	return snprintf(url, sizeof(url), "%s%s", client->base, path) <
		       (int)sizeof(url) &&
	       curl_easy_setopt(client->curl, CURLOPT_URL, url) == CURLE_OK;
}

static bool method_set(struct neap_client *client,
		       const struct neap_client_request *request)
{
	CURL *curl = client->curl;
	bool is_get = strcmp(request->method, "GET") == 0;
	bool has_body = request->body != NULL || strcmp(request->method, "POST") == 0;

	if (has_body &&
	    (curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
			      (curl_off_t)request->body_len) != CURLE_OK ||
	     curl_easy_setopt(curl, CURLOPT_POSTFIELDS,
			      request->body != NULL ? request->body : "") != CURLE_OK))
		return false;
	return curl_easy_setopt(curl, has_body ? CURLOPT_POST : CURLOPT_HTTPGET, 1L) ==
		       CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST,
				is_get ? NULL : request->method) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
				is_get ? GET_MSEC : CHANGE_MSEC) == CURLE_OK;
}

static CURLcode perform(struct neap_client *client,
			const struct neap_client_request *request)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
	CURLcode code;

	client->is_absent = false;
	client->detail[0] = '\0';
	client->etag[0] = '\0';
	neap_buf_clear(&client->reply);
	if (!headers_set(client, request) || !url_set(client, request->path) ||
	    !method_set(client, request) ||
	    curl_easy_setopt(client->curl, CURLOPT_WRITEFUNCTION, reply_add) !=
		    CURLE_OK ||
	    curl_easy_setopt(client->curl, CURLOPT_WRITEDATA, client) != CURLE_OK)
		return CURLE_OUT_OF_MEMORY;
	/* A daemon that ends meanwhile must not end this process without a word. */
	(void)sigaction(SIGPIPE, &ignore, &before);
	code = curl_easy_perform(client->curl);
	(void)sigaction(SIGPIPE, &before, NULL);
	return code;
}

static int send_once(struct neap_client *client,
		     const struct neap_client_request *request,
		     struct neap_client_reply *ret, struct neap_error *err)
{
	CURLcode code = perform(client, request);
	json_error_t where;

	memset(ret, 0, sizeof(*ret));
	ret->text = "";
	if (code != CURLE_OK)
		return failure(client, code, err);
	(void)curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &ret->status);
	(void)neap_strcopy(ret->etag, sizeof(ret->etag), client->etag);
	ret->text = client->reply.data;
	ret->len = client->reply.len;
	if (neap_json_parse(ret->text, ret->len, 0, &ret->json, &where) == -NEAP_ENOMEM)
		return neap_error_nomem(err);
	if (ret->status >= 200 && ret->status <= 299)
		return 0;
	return refusal(client, ret->status, ret->json, err);
}

/* The socket did not serve us: on to the address, if there is a way in. */
static bool turn(struct neap_client *client, const struct neap_error *why,
		 struct neap_error *err)
{
	bool is_denied = why->code == NEAP_EAUTH || why->code == NEAP_EFORBIDDEN;
	enum neap_listener listener;
	struct neap_token token;
	uid_t uid = 0;

	if (!client->may_turn || client->has_turned || (!is_denied && !client->is_absent))
		return false;
	if (neap_token_find(client->ctl, &token, err) < 0)
		return false;
	if (is_denied && !token.text[0])
		return false;
	listener = neap_listener_judge(NEAP_FIND_PORT, token.owner, &uid);
	if (listener == NEAP_LISTENER_FOREIGN && client->is_absent) {
		(void)neap_error_set(err, NEAP_EUNAVAILABLE,
				     "no neapd answers at %s; at %s user %u does, who is "
				     "not neapd: no token goes there",
				     client->where, NEAP_FIND_SERVER, (unsigned)uid);
		err->errnum = ECONNREFUSED;
	}
	if (listener == NEAP_LISTENER_FOREIGN)
		return false;
	if (listener == NEAP_LISTENER_NONE && is_denied)
		return false;
	client->has_turned = true;
	return go_to(client, NULL,
		     neap_secure_is_meant(client->ctl) ? "https://" NEAP_FIND_SERVER
						       : NEAP_FIND_SERVER,
		     token.text, err) == 0;
}

int neap_client_send(struct neap_client *client,
		     const struct neap_client_request *request,
		     struct neap_client_reply *ret, struct neap_error *err)
{
	int r = send_once(client, request, ret, err);
	struct neap_error why;

	if (r == 0)
		return r;
	why = *err;
	if (!turn(client, &why, err))
		return -(int)err->code;
	neap_client_reply_done(ret);
	return send_once(client, request, ret, err);
}

void neap_client_reply_done(struct neap_client_reply *reply)
{
	json_decref(reply->json);
	reply->json = NULL;
}

int neap_client_call(struct neap_client *client, const char *method, const char *path,
		     json_t *body, json_t **ret, struct neap_error *err)
{
	struct neap_client_request request = {.method = method, .path = path};
	neap_auto_free char *text = NULL;
	struct neap_client_reply reply;
	int r;

	if (body != NULL) {
		text = neap_json_dump(body, JSON_COMPACT);
		if (text == NULL)
			return neap_error_nomem(err);
		request.body = text;
		request.body_len = strlen(text);
	}
	r = neap_client_send(client, &request, &reply, err);
	if (r == 0 && reply.json == NULL)
		r = neap_error_set(err, NEAP_EINTERNAL,
				   "%s answers, but not with JSON: is it neapd?",
				   client->where);
	if (r == 0)
		*ret = neap_steal(reply.json);
	neap_client_reply_done(&reply);
	return r;
}

static size_t stream_add(char *data, size_t size, size_t count, void *arg)
{
	struct stream *stream = arg;
	size_t i, len = size * count;
	const char *type = NULL;
	long status = 0;

	if (!stream->is_known) {
		(void)curl_easy_getinfo(stream->client->curl, CURLINFO_RESPONSE_CODE,
					&status);
		(void)curl_easy_getinfo(stream->client->curl, CURLINFO_CONTENT_TYPE,
					&type);
		stream->is_known = true;
		stream->is_other = status != 200 || type == NULL ||
				   strncmp(type, "text/event-stream", 17) != 0;
	}
	if (stream->is_other)
		return 0;
	for (i = 0; i < len; i++) {
		if (data[i] != '\n') {
			neap_buf_addc(&stream->line, data[i]);
			continue;
		}
		if (stream->line.len > 0 &&
		    stream->line.data[stream->line.len - 1] == '\r')
			stream->line.data[--stream->line.len] = '\0';
		/* A line over its ceiling is left out. */
		if (!neap_buf_failed(&stream->line) &&
		    !stream->add(stream->arg, stream->line.data)) {
			stream->is_ended = true;
			return 0;
		}
		neap_buf_done(&stream->line);
		neap_buf_init(&stream->line, EVENT_MAX);
	}
	return len;
}

int neap_client_stream(struct neap_client *client, const char *path,
		       bool (*line)(void *arg, const char *text), void *arg,
		       struct neap_error *err)
{
	const struct neap_client_request request = {
		.method = "GET", .path = path, .accept = "text/event-stream"};
	struct stream stream = {.client = client, .add = line, .arg = arg};
	CURLcode code;

	client->is_absent = false;
	if (!headers_set(client, &request) || !url_set(client, path) ||
	    !method_set(client, &request) ||
	    curl_easy_setopt(client->curl, CURLOPT_TIMEOUT_MS, 0L) != CURLE_OK ||
	    curl_easy_setopt(client->curl, CURLOPT_WRITEFUNCTION, stream_add) !=
		    CURLE_OK ||
	    curl_easy_setopt(client->curl, CURLOPT_WRITEDATA, &stream) != CURLE_OK)
		return neap_error_nomem(err);
	neap_buf_init(&stream.line, EVENT_MAX);
	code = curl_easy_perform(client->curl);
	neap_buf_done(&stream.line);
	if (stream.is_other)
		return neap_error_set(err, NEAP_EUNSUPPORTED, "%s gives no event stream",
				      client->where);
	/* A daemon that ends cuts its streams off. */
	if (code == CURLE_OK || stream.is_ended || stream.is_known)
		return 0;
	return failure(client, code, err);
}

bool neap_client_is_absent(const struct neap_client *client)
{
	return client->is_absent;
}

int neap_client_ask(const struct neap_ctl *ctl, const char *method, const char *path,
		    json_t **ret, struct neap_error *err)
{
	struct neap_client *client = NULL;
	int r;

	r = neap_client_new(ctl, &client, err);
	if (r == 0)
		r = neap_client_call(client, method, path, NULL, ret, err);
	neap_client_free(client);
	return r;
}
