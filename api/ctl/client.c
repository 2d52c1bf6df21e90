/* SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP client of neapctl, on libcurl. */
#include "api/ctl/client.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/mem.h"

#define CONNECT_MSEC 5000L
#define GET_MSEC     10000L
/* Groups are made and values written before the answer, and kernels can take their time. */
#define POST_MSEC     60000L
#define TOKEN_MAX     256
#define URL_MAX_BYTES 512

struct neap_client {
	CURL *curl;
	struct curl_slist *headers;
	struct neap_buf reply;
	char base[128]; /* "http://ADDR:PORT" */
	const char *where;
	bool is_unix, is_absent;
};

static int token_read(const char *file, char *buf, size_t size, struct neap_error *err)
{
	neap_auto_fd int fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return neap_error_sys(err, "--token-file %s", file);
	n = read(fd, buf, size - 1);
	if (n < 0)
		return neap_error_sys(err, "--token-file %s", file);
	buf[n] = '\0';
	buf[strcspn(buf, " \t\r\n")] = '\0';
	if (!buf[0])
		return neap_error_set(err, NEAP_EINVAL, "--token-file %s: is empty",
				      file);
	return 0;
}

static bool header_add(struct neap_client *client, const char *line)
{
	struct curl_slist *more = curl_slist_append(client->headers, line);

	if (more != NULL)
		client->headers = more;
	return more != NULL;
}

static size_t reply_add(char *data, size_t size, size_t count, void *arg)
{
	struct neap_client *client = arg;

	neap_buf_add(&client->reply, data, size * count);
	return neap_buf_failed(&client->reply) ? 0 : size * count;
}

/* Environment variables of libcurl (proxies) never lead elsewhere. */
static bool curl_prepare(struct neap_client *client, const struct neap_ctl *ctl)
{
	CURL *curl = client->curl;

	return (!client->is_unix || curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH,
						     ctl->socket) == CURLE_OK) &&
	       curl_easy_setopt(curl, CURLOPT_PROXY, "") == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http") == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MSEC) ==
		       CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_HTTPHEADER, client->headers) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, reply_add) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_WRITEDATA, client) == CURLE_OK;
}

static int client_fill(struct neap_client *client, const struct neap_ctl *ctl,
		       struct neap_error *err)
{
	char token[TOKEN_MAX], line[TOKEN_MAX + 32];

	client->is_unix = ctl->server == NULL;
	client->where = client->is_unix ? ctl->socket : ctl->server;
	if (snprintf(client->base, sizeof(client->base), "http://%s",
		     client->is_unix ? "localhost" : ctl->server) >=
	    (int)sizeof(client->base))
		return neap_error_field(err, NEAP_EINVAL, "--server",
					"'%.64s...' is too long for ADDR:PORT",
					ctl->server);
	/* No pause of "Expect: 100-continue" before a body. */
	if (!header_add(client, "Expect:") ||
	    !header_add(client, "Content-Type: application/json"))
		return neap_error_nomem(err);
	if (ctl->token_file != NULL && !client->is_unix) {
		if (token_read(ctl->token_file, token, sizeof(token), err) < 0)
			return -(int)err->code;
		(void)snprintf(line, sizeof(line), "Authorization: Bearer %s", token);
		if (!header_add(client, line))
			return neap_error_nomem(err);
	}
	client->curl = curl_easy_init();
	if (client->curl == NULL || !curl_prepare(client, ctl))
		return neap_error_nomem(err);
	return 0;
}

int neap_client_new(const struct neap_ctl *ctl, struct neap_client **ret,
		    struct neap_error *err)
{
	struct neap_client *client = neap_alloc(sizeof(*client));

	if (client == NULL)
		return neap_error_nomem(err);
	neap_buf_init(&client->reply, NEAP_BUF_REPLY);
	if (client_fill(client, ctl, err) < 0) {
		neap_client_free(client);
		return -(int)err->code;
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

static int failure(struct neap_client *client, CURLcode code, struct neap_error *err)
{
	long number = 0;

	(void)curl_easy_getinfo(client->curl, CURLINFO_OS_ERRNO, &number);
	if (client->is_unix && (number == EACCES || number == EPERM))
		return neap_error_set(err, NEAP_EFORBIDDEN,
				      "%s: permission denied: run it with sudo",
				      client->where);
	if (code == CURLE_COULDNT_CONNECT) {
		client->is_absent = true;
		return neap_error_set(
			err, NEAP_EUNAVAILABLE,
			"no neapd answers at %s: start it with 'make run' or 'neapd'",
			client->where);
	}
	if (code == CURLE_OPERATION_TIMEDOUT)
		return neap_error_set(err, NEAP_EUNAVAILABLE,
				      "neapd at %s gave no answer in time",
				      client->where);
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
		hint = "; try it with sudo";
	if (is_forbidden && !client->is_unix &&
	    (message == NULL || strstr(message, "token") == NULL))
		hint = "; name the daemon's token with --token-file";
	if (message == NULL)
		return neap_error_set(err, code, "%s answers with status %ld%s",
				      client->where, status, hint);
	return neap_error_field(err, code, field != NULL ? field : "", "%.200s%s",
				message, hint);
}

static CURLcode perform(struct neap_client *client, const char *method, const char *url,
			const char *text)
{
	bool is_post = strcmp(method, "POST") == 0;
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
	CURLcode code;

	code = curl_easy_setopt(client->curl, CURLOPT_URL, url);
	if (code == CURLE_OK && is_post)
		code = curl_easy_setopt(client->curl, CURLOPT_POSTFIELDS, text);
	else if (code == CURLE_OK)
		code = curl_easy_setopt(client->curl, CURLOPT_HTTPGET, 1L);
	if (code == CURLE_OK)
		code = curl_easy_setopt(client->curl, CURLOPT_TIMEOUT_MS,
					is_post ? POST_MSEC : GET_MSEC);
	if (code != CURLE_OK)
		return code;
	/* A daemon that ends meanwhile must not end this process without a word. */
	(void)sigaction(SIGPIPE, &ignore, &before);
	code = curl_easy_perform(client->curl);
	(void)sigaction(SIGPIPE, &before, NULL);
	return code;
}

int neap_client_call(struct neap_client *client, const char *method, const char *path,
		     json_t *body, json_t **ret, struct neap_error *err)
{
	neap_auto_free char *text = NULL;
	char url[URL_MAX_BYTES];
	json_t *reply;
	long status = 0;
	CURLcode code;
	int r;

	client->is_absent = false;
	neap_buf_clear(&client->reply);
	if (body != NULL) {
		text = json_dumps(body, JSON_COMPACT);
		if (text == NULL)
			return neap_error_nomem(err);
	}
	(void)snprintf(url, sizeof(url), "%s%s", client->base, path);
	code = perform(client, method, url, text != NULL ? text : "");
	if (code != CURLE_OK)
		return failure(client, code, err);
	(void)curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status);
	reply = json_loadb(client->reply.data, client->reply.len, 0, NULL);
	if (status == 200 && reply != NULL) {
		*ret = reply;
		return 0;
	}
	if (status == 200)
		r = neap_error_set(err, NEAP_EINTERNAL,
				   "%s answers, but not with JSON: is it neapd?",
				   client->where);
	else
		r = refusal(client, status, reply, err);
	json_decref(reply);
	return r;
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
