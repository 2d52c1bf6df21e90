/* SPDX-License-Identifier: Apache-2.0
 *
 * libcurl's multi interface on the event loop. Keys come from memory, so that the loop
 * needs no files; connections may come from outside, because the loop's jail allows
 * none. */
#include <ctype.h>
#include <event2/event.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/remote/transport_priv.h"
#include "engine/base/clock.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/log/log.h"

#define CONNECT_MSEC  30000
#define WARNINGS_MAX  256
#define WARNING_BYTES 1024

int neap_transport_setup(struct neap_error *err)
{
	return curl_global_init(CURL_GLOBAL_ALL) == CURLE_OK ? 0 : neap_error_nomem(err);
}

/* --- events --- */

static void act(struct neap_transport *transport, curl_socket_t fd, int what)
{
	int running;

	(void)curl_multi_socket_action(transport->multi, fd, what, &running);
	transport_curl_reap(transport);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	act(arg, CURL_SOCKET_TIMEOUT, 0);
}

static void on_socket(evutil_socket_t fd, short what, void *arg)
{
	act(arg, fd,
	    (what & EV_READ ? CURL_CSELECT_IN : 0) |
		    (what & EV_WRITE ? CURL_CSELECT_OUT : 0));
}

static int set_timer(CURLM *multi, long msec, void *arg)
{
	struct neap_transport *transport = arg;
	const struct timeval after = {.tv_sec = msec / 1000,
				      .tv_usec = msec % 1000 * 1000};

	(void)multi;
	if (msec < 0)
		return event_del(transport->timer);
	return event_add(transport->timer, &after);
}

static int set_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *of_socket)
{
	struct neap_transport *transport = arg;
	struct event *event = of_socket;
	short wanted = (short)((what != CURL_POLL_OUT ? EV_READ : 0) |
			       (what != CURL_POLL_IN ? EV_WRITE : 0) | EV_PERSIST);

	(void)easy;
	if (event != NULL)
		event_free(event);
	(void)curl_multi_assign(transport->multi, fd, NULL);
	if (what == CURL_POLL_REMOVE)
		return 0;
	event = event_new(transport->config.base, fd, wanted, on_socket, transport);
	if (event == NULL || event_add(event, NULL) < 0)
		return -1;
	(void)curl_multi_assign(transport->multi, fd, event);
	return 0;
}

static void note_http(struct neap_transfer *transfer)
{
	long version = 0;

	if (curl_easy_getinfo(transfer->easy, CURLINFO_HTTP_VERSION, &version) ==
		    CURLE_OK &&
	    version != CURL_HTTP_VERSION_NONE)
		transfer->transport->has_http2 = version >= CURL_HTTP_VERSION_2_0;
}

void transport_curl_reap(struct neap_transport *transport)
{
	const struct timeval now = {0};
	struct neap_transfer *transfer;
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(transport->multi, &left)) != NULL) {
		CURLcode code = message->data.result;
		long sent = 0;

		if (message->msg != CURLMSG_DONE ||
		    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE,
				      &transfer) != CURLE_OK)
			continue;
		(void)curl_easy_getinfo(transfer->easy, CURLINFO_REQUEST_SIZE, &sent);
		transfer->was_sent = sent > 0 && !transfer->is_withheld;
		note_http(transfer);
		if (code != CURLE_OK && transfer->error[0] == '\0')
			(void)neap_strcopy(transfer->error, sizeof(transfer->error),
					   curl_easy_strerror(code));
		else if (code == CURLE_OK)
			transfer->error[0] = '\0';
		transfer->is_broken = code != CURLE_OK &&
				      code != CURLE_PEER_FAILED_VERIFICATION &&
				      code != CURLE_WRITE_ERROR;
		transfer->is_over = true;
		(void)event_add(transport->turn, &now);
	}
}

/* --- one transfer --- */

static size_t take_body(char *bytes, size_t size, size_t count, void *arg)
{
	struct neap_transfer *transfer = arg;
	size_t len = size * count;

	transfer->transport->counts.bytes_in += len;
	transfer->transport->heard_usec = neap_clock_steady();
	(void)curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE,
				&transfer->status);
	if (transfer->is_cancelled)
		return 0;
	if (transfer->data != NULL && transfer->status == 200) {
		if (transfer->data(transfer->arg, bytes, len))
			return len;
		(void)neap_strcopy(transfer->error, sizeof(transfer->error),
				   "the answer was not wanted to its end");
		return 0;
	}
	neap_buf_add(&transfer->in, bytes, len);
	return neap_buf_failed(&transfer->in) ? 0 : len;
}

/* Without a function to go back in it: what was sent once is never sent again by libcurl
 * itself, so that no write is done twice. */
static size_t give_body(char *to, size_t size, size_t count, void *arg)
{
	struct neap_transfer *transfer = arg;
	size_t room = size * count, left = transfer->len - transfer->body_at;
	size_t len = left < room ? left : room;

	/* It may have waited for a connection since it was asked. */
	if (transfer->body_at == 0 && transfer->may != NULL &&
	    !transfer->may(transfer->arg)) {
		transfer->is_withheld = true;
		return CURL_READFUNC_ABORT;
	}
	memcpy(to, transfer->body + transfer->body_at, len);
	transfer->body_at += len;
	return len;
}

/* 299 - "text": said once. */
static void take_warning(struct neap_transport *transport, const char *value, size_t len)
{
	char text[WARNING_BYTES];

	(void)snprintf(text, sizeof(text), "%.*s", (int)len, value);
	neap_utf8_trim(text);
	if (neap_map_find(transport->warnings, text) != NULL ||
	    neap_map_count(transport->warnings) >= WARNINGS_MAX ||
	    !neap_map_set(transport->warnings, text, transport))
		return;
	neap_log_from(transport->config.log, transport->config.name, NEAP_LOG_WARN,
		      "%s: it warns: %s", transport->config.name, text);
}

/* A whole number of seconds; a date is no number. */
static void take_retry_after(struct neap_transfer *transfer, const char *value,
			     size_t len)
{
	int seconds = 0;

	if (len == 0)
		return;
	for (size_t i = 0; i < len; i++) {
		if (!isdigit((unsigned char)value[i]))
			return;
		if (seconds < 100000)
			seconds = seconds * 10 + value[i] - '0';
	}
	transfer->has_retry_after = true;
	transfer->retry_after_s = seconds;
}

static size_t take_header(char *line, size_t size, size_t count, void *arg)
{
	struct neap_transfer *transfer = arg;
	size_t len = size * count, end = len, at;
	const char *colon = memchr(line, ':', len);

	transfer->transport->heard_usec = neap_clock_steady();
	(void)curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE,
				&transfer->status);

	if (colon == NULL)
		return len;
	at = (size_t)(colon - line) + 1;
	while (at < end && isspace((unsigned char)line[at]))
		at++;
	while (end > at && isspace((unsigned char)line[end - 1]))
		end--;
	if (colon - line == 11 && strncasecmp(line, "retry-after", 11) == 0)
		take_retry_after(transfer, line + at, end - at);
	else if (colon - line == 7 && strncasecmp(line, "warning", 7) == 0)
		take_warning(transfer->transport, line + at, end - at);
	return len;
}

static curl_socket_t open_socket(void *arg, curlsocktype purpose,
				 struct curl_sockaddr *address)
{
	struct neap_transfer *transfer = arg;
	int fd = transfer->transport->spare_fd;

	(void)purpose;
	(void)address;
	transfer->transport->spare_fd = -1;
	transfer->wants_fd = fd < 0;
	return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static int already(void *arg, curl_socket_t fd, curlsocktype purpose)
{
	(void)arg;
	(void)fd;
	(void)purpose;
	return CURL_SOCKOPT_ALREADY_CONNECTED;
}

static bool add_header(struct curl_slist **list, const char *text)
{
	struct curl_slist *longer = curl_slist_append(*list, text);

	if (longer == NULL)
		return false;
	*list = longer;
	return true;
}

static bool add_headers(struct neap_transfer *transfer)
{
	const struct curl_slist *header = transfer->transport->headers;
	char type[128];

	for (; header != NULL; header = header->next)
		if (!add_header(&transfer->headers, header->data))
			return false;
	if (transfer->content_type == NULL)
		return true;
	(void)snprintf(type, sizeof(type), "Content-Type: %s", transfer->content_type);
	return add_header(&transfer->headers, type) &&
	       add_header(&transfer->headers, "Expect:");
}

#define SET(option, value)                                                               \
	do {                                                                             \
		if (curl_easy_setopt(easy, option, value) != CURLE_OK)                   \
			return false;                                                    \
	} while (0)

static bool set_blob(CURL *easy, CURLoption option, const char *pem)
{
	/* libcurl copies it: the text may be replaced while a connection is made. */
	struct curl_blob blob = {.data = (void *)(uintptr_t)pem,
				 .len = strlen(pem),
				 .flags = CURL_BLOB_COPY};

	return curl_easy_setopt(easy, option, &blob) == CURLE_OK;
}

static CURLcode give_roots(CURL *easy, void *of_connection, void *roots)
{
	(void)easy;
	SSL_CTX_set1_cert_store(of_connection, roots);
	return CURLE_OK;
}

/* Those that libcurl would read itself, also for a proxy. */
static bool set_roots(CURL *easy, struct x509_store_st *roots)
{
	SET(CURLOPT_CAINFO, NULL);
	SET(CURLOPT_CAPATH, NULL);
	SET(CURLOPT_PROXY_CAINFO, NULL);
	SET(CURLOPT_PROXY_CAPATH, NULL);
	SET(CURLOPT_SSL_CTX_FUNCTION, give_roots);
	SET(CURLOPT_SSL_CTX_DATA, roots);
	return true;
}

static bool set_keys(CURL *easy, const struct neap_transport *transport)
{
	if (transport->ca == NULL && transport->config.roots != NULL &&
	    !set_roots(easy, transport->config.roots))
		return false;
	if (transport->ca != NULL && !set_blob(easy, CURLOPT_CAINFO_BLOB, transport->ca))
		return false;
	if (transport->cert != NULL && transport->key != NULL &&
	    (!set_blob(easy, CURLOPT_SSLCERT_BLOB, transport->cert) ||
	     !set_blob(easy, CURLOPT_SSLKEY_BLOB, transport->key)))
		return false;
	if (transport->bearer == NULL && transport->user != NULL) {
		SET(CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		SET(CURLOPT_USERNAME, transport->user);
		SET(CURLOPT_PASSWORD, transport->password ? transport->password : "");
	}
	if (transport->config.is_insecure) {
		SET(CURLOPT_SSL_VERIFYPEER, 0L);
		SET(CURLOPT_SSL_VERIFYHOST, 0L);
	}
	return true;
}

static bool set_connection(CURL *easy, struct neap_transfer *transfer)
{
	const struct neap_transport *transport = transfer->transport;

	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_PROXY, transport->proxy ? transport->proxy : "");
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MSEC);
	SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	/* Not before it is known: where connections cannot be shared, whoever waits for
	 * one would wait for the end of a watch. */
	SET(CURLOPT_PIPEWAIT, transport->has_http2 ? 1L : 0L);
	/* Connections of before a silence lead nowhere. */
	if (transport->silent_usec != 0)
		SET(CURLOPT_MAXLIFETIME_CONN,
		    1 + (long)((neap_clock_steady() - transport->silent_usec) / 1000000));
	SET(CURLOPT_TCP_KEEPALIVE, 1L);
	SET(CURLOPT_TCP_KEEPIDLE, 30L);
	SET(CURLOPT_TCP_KEEPINTVL, 30L);
	if (transport->resolve != NULL)
		SET(CURLOPT_RESOLVE, transport->resolve);
	if (transport->connect_to != NULL)
		SET(CURLOPT_CONNECT_TO, transport->connect_to);
	if (transport->config.dial != NULL) {
		SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
		SET(CURLOPT_OPENSOCKETDATA, transfer);
		SET(CURLOPT_SOCKOPTFUNCTION, already);
	}
	return set_keys(easy, transport);
}

static bool set_request(CURL *easy, struct neap_transfer *transfer)
{
	const struct neap_transport *transport = transfer->transport;
	neap_auto_free char *url = neap_asprintf("%s%s", transport->url, transfer->path);

	if (url == NULL || !add_headers(transfer))
		return false;
	SET(CURLOPT_URL, url);
	SET(CURLOPT_PRIVATE, transfer);
	SET(CURLOPT_ERRORBUFFER, transfer->error);
	SET(CURLOPT_USERAGENT, transport->agent);
	SET(CURLOPT_HTTPHEADER, transfer->headers);
	SET(CURLOPT_WRITEFUNCTION, take_body);
	SET(CURLOPT_WRITEDATA, transfer);
	SET(CURLOPT_HEADERFUNCTION, take_header);
	SET(CURLOPT_HEADERDATA, transfer);
	SET(CURLOPT_TIMEOUT_MS, (long)((transfer->timeout_usec ? transfer->timeout_usec
							       : transfer->most_usec) /
				       1000));
	SET(CURLOPT_BUFFERSIZE, 65536L);
	if (!transport->config.has_no_compression && transfer->timeout_usec != 0)
		SET(CURLOPT_ACCEPT_ENCODING, "gzip");
	if (transfer->body != NULL) {
		SET(CURLOPT_UPLOAD, 1L);
		SET(CURLOPT_READFUNCTION, give_body);
		SET(CURLOPT_READDATA, transfer);
		SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t)transfer->len);
	}
	SET(CURLOPT_CUSTOMREQUEST, transfer->method);
	return true;
}

int transport_curl_start(struct neap_transfer *transfer, struct neap_error *err)
{
	struct neap_transport *transport = transfer->transport;

	transfer->is_over = transfer->is_broken = transfer->was_sent = false;
	transfer->is_withheld = false;
	transfer->has_retry_after = false;
	transfer->status = 0;
	transfer->body_at = 0;
	transfer->error[0] = '\0';
	transfer->easy = curl_easy_init();
	if (transfer->easy == NULL || !set_connection(transfer->easy, transfer) ||
	    !set_request(transfer->easy, transfer) ||
	    curl_multi_add_handle(transport->multi, transfer->easy) != CURLM_OK) {
		if (transfer->easy != NULL)
			curl_easy_cleanup(transfer->easy);
		transfer->easy = NULL;
		return neap_error_nomem(err);
	}
	return 0;
}

void transport_curl_close(struct neap_transfer *transfer)
{
	if (transfer->easy != NULL) {
		(void)curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE,
					&transfer->status);
		(void)curl_multi_remove_handle(transfer->transport->multi,
					       transfer->easy);
		curl_easy_cleanup(transfer->easy);
	}
	transfer->easy = NULL;
	curl_slist_free_all(transfer->headers);
	transfer->headers = NULL;
}

/* --- the transport --- */

static bool set_text(char **to, const char *text)
{
	char *copy = text != NULL ? neap_strdup(text) : NULL;

	if (text != NULL && copy == NULL)
		return false;
	free(*to);
	*to = copy;
	return true;
}

int neap_transport_set_keys(struct neap_transport *transport,
			    const struct neap_transport_keys *keys,
			    struct neap_error *err)
{
	const struct curl_slist *extra;
	struct curl_slist *headers = NULL;
	neap_auto_free char *bearer = NULL;
	bool is_fine = set_text(&transport->ca, keys->ca) &&
		       set_text(&transport->cert, keys->cert) &&
		       set_text(&transport->key, keys->key) &&
		       set_text(&transport->bearer, keys->token) &&
		       set_text(&transport->user, keys->user) &&
		       set_text(&transport->password, keys->password) &&
		       add_header(&headers, "Accept: application/json");

	if (is_fine && keys->token != NULL) {
		bearer = neap_asprintf("Authorization: Bearer %s", keys->token);
		is_fine = bearer != NULL && add_header(&headers, bearer);
	}
	for (extra = transport->extra; is_fine && extra != NULL; extra = extra->next)
		is_fine = add_header(&headers, extra->data);
	if (is_fine && transport->host != NULL)
		is_fine = add_header(&headers, transport->host);
	if (!is_fine) {
		curl_slist_free_all(headers);
		return neap_error_nomem(err);
	}
	curl_slist_free_all(transport->headers);
	transport->headers = headers;
	return 0;
}

/* Where another name of the certificate is wanted, the URL has that name, and connections
 * go to the server all the same. */
static bool rename_server(struct neap_transport *transport, CURLU *url, const char *host,
			  const char *port)
{
	const char *name = transport->config.tls_name;
	neap_auto_free char *to = neap_asprintf("%s:%s:%s:%s", name, port, host, port);
	char *text = NULL;
	bool is_fine = to != NULL && add_header(&transport->connect_to, to) &&
		       curl_url_set(url, CURLUPART_HOST, name, 0) == CURLUE_OK &&
		       curl_url_get(url, CURLUPART_URL, &text, 0) == CURLUE_OK &&
		       set_text(&transport->url, text);

	curl_free(text);
	/* Paths begin with a slash, and libcurl ends a URL with one. */
	if (is_fine && transport->url[strlen(transport->url) - 1] == '/')
		transport->url[strlen(transport->url) - 1] = '\0';
	transport->host = neap_asprintf("Host: %s:%s", host, port);
	return is_fine && transport->host != NULL;
}

/* The process that connects looks names up: libcurl gets a dummy address. */
static bool resolve(struct neap_transport *transport, const char *host, const char *port)
{
	if (host[0] == '[') /* an address of IPv6 needs none */
		return true;
	neap_auto_free char *entry = neap_asprintf("%s:%s:127.0.0.1", host, port);

	return entry != NULL && add_header(&transport->resolve, entry);
}

static bool set_names(struct neap_transport *transport, const char *text)
{
	const struct neap_transport_config *config = &transport->config;
	bool is_server = text == config->url;
	CURLU *url = curl_url();
	char *host = NULL, *port = NULL;
	bool is_fine =
		url != NULL && curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK &&
		curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
		curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK;

	if (is_fine && config->dial != NULL && (!is_server || config->proxy == NULL))
		is_fine = resolve(transport, host, port);
	if (is_fine && is_server)
		(void)snprintf(transport->host_port, sizeof(transport->host_port),
			       "%s:%s", host, port);
	if (is_fine && is_server && config->tls_name != NULL)
		is_fine = rename_server(transport, url, host, port);
	curl_free(host);
	curl_free(port);
	curl_url_cleanup(url);
	return is_fine;
}

int transport_curl_open(struct neap_transport *transport, struct neap_error *err)
{
	const struct neap_transport_config *config = &transport->config;
	const char *const *header;

	transport->multi = curl_multi_init();
	transport->timer = event_new(config->base, -1, 0, on_timer, transport);
	transport->warnings = neap_map_new();
	transport->agent = neap_asprintf("neapd/%s (linux/%s)", NEAP_VERSION,
#ifdef __aarch64__
					 "arm64"
#else
					 "amd64"
#endif
	);
	if (transport->multi == NULL || transport->timer == NULL ||
	    transport->warnings == NULL || transport->agent == NULL ||
	    !set_text(&transport->url, config->url) ||
	    !set_text(&transport->proxy, config->proxy))
		return neap_error_nomem(err);
	if (!set_names(transport, config->url) ||
	    (config->proxy != NULL && !set_names(transport, config->proxy)))
		return neap_error_set(err, NEAP_EINVAL, "%s: no URL of a server",
				      config->url);
	for (header = config->headers; header != NULL && *header != NULL; header++)
		if (!add_header(&transport->extra, *header))
			return neap_error_nomem(err);
	(void)curl_multi_setopt(transport->multi, CURLMOPT_SOCKETFUNCTION, set_socket);
	(void)curl_multi_setopt(transport->multi, CURLMOPT_SOCKETDATA, transport);
	(void)curl_multi_setopt(transport->multi, CURLMOPT_TIMERFUNCTION, set_timer);
	(void)curl_multi_setopt(transport->multi, CURLMOPT_TIMERDATA, transport);
	(void)curl_multi_setopt(transport->multi, CURLMOPT_MAXCONNECTS, 25L);
	return neap_transport_set_keys(transport, &(struct neap_transport_keys){0}, err);
}

void transport_curl_shut(struct neap_transport *transport)
{
	if (transport->multi != NULL)
		(void)curl_multi_cleanup(transport->multi);
	if (transport->timer != NULL)
		event_free(transport->timer);
	if (transport->spare_fd >= 0)
		(void)close(transport->spare_fd);
	neap_map_free(transport->warnings);
	curl_slist_free_all(transport->headers);
	curl_slist_free_all(transport->extra);
	curl_slist_free_all(transport->resolve);
	curl_slist_free_all(transport->connect_to);
	free(transport->url);
	free(transport->proxy);
	free(transport->host);
	free(transport->agent);
	free(transport->ca);
	free(transport->cert);
	free(transport->key);
	free(transport->bearer);
	free(transport->user);
	free(transport->password);
}
