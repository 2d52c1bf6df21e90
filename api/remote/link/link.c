/* SPDX-License-Identifier: Apache-2.0 */
#include "api/remote/link/link.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "api/remote/roots.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "hw/dialer/dialer.h"

#define TOKEN_SEC  50 /* a token is read again, as client-go does */
#define KEYS_USEC  (300 * (int64_t)1000000)
#define AGAIN_USEC 500000 /* a pair that is none; doubled each time */

/* Files that hold credentials, in the order of their numbers. */
enum link_file { LINK_CA, LINK_CERT, LINK_KEY, LINK_TOKEN, LINK_FILES };

#define BIT(file) (1u << (file))
#define PAIR      (BIT(LINK_CERT) | BIT(LINK_KEY))

struct neap_link {
	struct neap_link_config config;
	struct neap_remote_target *target;
	struct neap_dialer *dialer;
	struct neap_transport *transport;
	struct x509_store_st *roots; /* NULL: it needs none */
	const struct neap_link_events *events;
	void *arg;
	int numbers[LINK_FILES]; /* of the dialer's files; -1: there is none */
	char *texts[LINK_FILES]; /* in force */
	char *fresh[LINK_FILES]; /* of a pair: as read last, not in force yet */
	unsigned reading;        /* files that are read now */
	unsigned waiting;        /* files that never could be used yet */
	bool is_ready, is_gone;
	struct event *heard, *refresh, *again;
	int64_t read_usec;  /* when keys and certificates were read last, monotonic */
	int64_t again_usec; /* before a pair is read again */
};

/* --- who connects --- */

static int fork_dialer(struct neap_link *link, struct neap_error *err)
{
	const struct neap_remote_target *target = link->target;
	const char *const names[LINK_FILES] = {[LINK_CA] = target->ca_file,
					       [LINK_CERT] = target->cert_file,
					       [LINK_KEY] = target->key_file,
					       [LINK_TOKEN] = target->token_file};
	const char *files[LINK_FILES];
	const struct neap_dialer_server server = {.host = target->dial_host,
						  .port = target->dial_port};
	struct neap_dialer_config config = {.servers = &server,
					    .server_count = 1,
					    .files = files,
					    .uid = link->config.uid,
					    .gid = link->config.gid,
					    .jail = link->config.jail,
					    .log = link->config.log};

	for (int i = 0; i < LINK_FILES; i++) {
		link->numbers[i] = names[i] != NULL ? (int)config.file_count : -1;
		if (names[i] == NULL)
			continue;
		files[config.file_count++] = names[i];
		link->waiting |= BIT(i);
	}
	return neap_dialer_start(&config, &link->dialer, err);
}

static bool trusts_system(const struct neap_remote_target *target)
{
	return strncmp(target->server, "https:", 6) == 0 && !target->is_insecure &&
	       target->ca_file == NULL && target->ca_data == NULL;
}

int neap_link_open(const struct neap_link_config *config,
		   struct neap_remote_target *target, struct neap_link **ret,
		   struct neap_error *err)
{
	struct neap_link *link = neap_alloc(sizeof(*link));

	if (link == NULL) {
		neap_remote_target_free(target);
		return neap_error_nomem(err);
	}
	link->config = *config;
	link->target = target;
	if (neap_transport_setup(err) < 0 || fork_dialer(link, err) < 0) {
		neap_link_free(link);
		return -(int)err->code;
	}
	if (trusts_system(target))
		link->roots = neap_remote_roots_new(NULL);
	*ret = link;
	return 0;
}

/* --- credentials --- */

static const char *cert_of(const struct neap_link *link, char *const *texts)
{
	return link->target->cert_data ? link->target->cert_data : texts[LINK_CERT];
}

static const char *key_of(const struct neap_link *link, char *const *texts)
{
	return link->target->key_data ? link->target->key_data : texts[LINK_KEY];
}

static int use_keys(struct neap_link *link, struct neap_error *err)
{
	const struct neap_remote_target *target = link->target;
	const struct neap_transport_keys keys = {
		.ca = target->ca_data ? target->ca_data : link->texts[LINK_CA],
		.cert = cert_of(link, link->texts),
		.key = key_of(link, link->texts),
		.token = target->token ? target->token : link->texts[LINK_TOKEN],
		.user = target->username,
		.password = target->password};

	return neap_transport_set_keys(link->transport, &keys, err);
}

static void complain(const struct neap_link *link, const char *what)
{
	neap_log_from(link->config.log, link->config.name, NEAP_LOG_ERROR, "%s: %s",
		      link->config.name, what);
}

/* New texts are in force. Without a proof of the server, or of this neapd, nothing is
 * asked. */
static void use(struct neap_link *link, unsigned files)
{
	struct neap_error err = {0};
	int rc = 0;

	link->waiting &= ~files;
	if (link->waiting == 0)
		rc = use_keys(link, &err);
	if (rc == 0 && link->waiting == 0 && !link->is_ready) {
		link->is_ready = true;
		rc = link->events->ready(link->arg, &err);
	}
	if (rc < 0)
		complain(link, err.msg);
}

static bool is_same(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* fresh is taken. */
static bool replace_take(char **text, char **fresh)
{
	char *taken = neap_steal(*fresh);
	bool has_changed = taken != NULL && !is_same(*text, taken);

	if (has_changed) {
		free(*text);
		*text = neap_steal(taken);
	}
	free(taken);
	return has_changed;
}

static void read_pair_again(struct neap_link *link)
{
	const int64_t most = (int64_t)TOKEN_SEC * 1000000;
	struct timeval after;

	link->again_usec = link->again_usec == 0 ? AGAIN_USEC : link->again_usec * 2;
	if (link->again_usec > most)
		link->again_usec = most;
	after = (struct timeval){.tv_sec = link->again_usec / 1000000,
				 .tv_usec = link->again_usec % 1000000};
	(void)event_add(link->again, &after);
}

/* Both files of the pair were read, or could not be. */
static void settle_pair(struct neap_link *link)
{
	const char *cert = cert_of(link, link->fresh), *key = key_of(link, link->fresh);
	const char *why = NULL;
	bool has_changed;

	if (cert != NULL && key != NULL)
		why = neap_remote_pair_check(cert, strlen(cert), key, strlen(key));
	if (why != NULL)
		neap_log_from(link->config.log, link->config.name, NEAP_LOG_WARN,
			      "%s: %s %s%s: both are read again", link->config.name,
			      link->target->key_file ? link->target->key_file
						     : "the client key",
			      why,
			      link->waiting & PAIR ? "" : "; the pair of before stays");
	if (cert == NULL || key == NULL || why != NULL) {
		free(neap_steal(link->fresh[LINK_CERT]));
		free(neap_steal(link->fresh[LINK_KEY]));
		read_pair_again(link);
		return;
	}
	link->again_usec = 0;
	has_changed = replace_take(&link->texts[LINK_CERT], &link->fresh[LINK_CERT]);
	has_changed |= replace_take(&link->texts[LINK_KEY], &link->fresh[LINK_KEY]);
	if (has_changed)
		use(link, PAIR);
}

static void read_file(struct neap_link *link, int file)
{
	struct neap_error err;

	if (link->numbers[file] < 0 || link->is_gone || (link->reading & BIT(file)) != 0)
		return;
	if (neap_dialer_read(link->dialer, (unsigned)link->numbers[file], (uint64_t)file,
			     &err) < 0)
		complain(link, err.msg);
	else
		link->reading |= BIT(file);
}

static void read_pair(struct neap_link *link)
{
	/* One that is read already may be of before the other. */
	if ((link->reading & PAIR) != 0)
		return;
	read_file(link, LINK_CERT);
	read_file(link, LINK_KEY);
}

static void read_keys(struct neap_link *link)
{
	link->read_usec = neap_clock_steady();
	read_file(link, LINK_CA);
	read_pair(link);
}

/* The last ones stay until the files can be read again. */
static void refresh(evutil_socket_t fd, short what, void *arg)
{
	struct neap_link *link = arg;

	(void)fd;
	(void)what;
	read_file(link, LINK_TOKEN);
	if (neap_clock_steady() - link->read_usec >= KEYS_USEC ||
	    (link->waiting & BIT(LINK_CA)) != 0)
		read_keys(link);
}

void neap_link_reread(struct neap_link *link)
{
	if (link == NULL || link->again == NULL)
		return;
	read_file(link, LINK_TOKEN);
	read_keys(link);
}

int neap_link_set_token(struct neap_link *link, const char *token, struct neap_error *err)
{
	char *copy = token != NULL ? neap_strdup(token) : NULL;
	char *before = link->target->token;
	int rc;

	if (token != NULL && copy == NULL)
		return neap_error_nomem(err);
	if (is_same(before, copy)) {
		free(copy);
		return 0;
	}
	link->target->token = copy;
	rc = link->is_ready ? use_keys(link, err) : 0;
	if (rc < 0) /* it is not in force, so that it is set when it comes again */
		link->target->token = before;
	free(rc < 0 ? copy : before);
	return rc;
}

static void pair_due(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	read_pair(arg);
}

/* Why a text cannot be used; NULL: it can. */
static const char *wrong(int file, const char *text, size_t len)
{
	if (len == 0)
		return file == LINK_TOKEN ? "the token file is empty" : "it is empty";
	return file == LINK_CA ? neap_remote_certs_check(text, len) : NULL;
}

static void file_is_read(void *arg, uint64_t id, const char *text, size_t len,
			 const char *why)
{
	struct neap_link *link = arg;
	char *fresh = NULL;

	link->reading &= ~BIT(id);
	if (text != NULL && id == LINK_TOKEN)
		while (len > 0 && strchr(" \t\r\n", text[len - 1]) != NULL)
			len--;
	if (text != NULL)
		why = wrong((int)id, text, len);
	if (why != NULL)
		neap_log_from(link->config.log, link->config.name, NEAP_LOG_WARN,
			      "%s: %s%s", link->config.name, why,
			      link->texts[id] ? "; what was read before stays" : "");
	else
		fresh = neap_strndup(text, len);
	if ((BIT(id) & PAIR) != 0) {
		free(link->fresh[id]);
		link->fresh[id] = fresh;
		if ((link->reading & PAIR) == 0)
			settle_pair(link);
		return;
	}
	if (replace_take(&link->texts[id], &fresh))
		use(link, BIT(id));
}

/* --- the dialer's answers, and the transport's questions --- */

static void connected(void *arg, uint64_t id, int fd, const char *why)
{
	struct neap_link *link = arg;

	(void)id;
	neap_transport_connected(link->transport, fd, why);
}

static void dialer_ended(void *arg)
{
	struct neap_link *link = arg;

	link->is_gone = true;
	(void)event_del(link->heard);
	link->events->lost(link->arg);
}

static void hear(evutil_socket_t fd, short what, void *arg)
{
	static const struct neap_dialer_heard heard = {
		.connected = connected, .read = file_is_read, .ended = dialer_ended};
	struct neap_link *link = arg;

	(void)fd;
	(void)what;
	neap_dialer_hear(link->dialer, &heard, link);
}

static void dial(void *arg)
{
	struct neap_link *link = arg;
	struct neap_error err;

	if (neap_dialer_connect(link->dialer, 0, 0, &err) < 0)
		neap_transport_connected(link->transport, -1, err.msg);
}

static void refused(void *arg)
{
	read_file(arg, LINK_TOKEN);
}

/* --- life --- */

static int make_transport(struct neap_link *link, struct event_base *base,
			  struct neap_error *err)
{
	const struct neap_remote_target *target = link->target;
	char **headers = neap_remote_target_headers(target);
	const struct neap_transport_config transport = {
		.base = base,
		.name = link->config.name,
		.url = target->server,
		.proxy = target->proxy_url,
		.tls_name = target->tls_server_name,
		.is_insecure = target->is_insecure,
		.roots = link->roots,
		.has_no_compression = target->has_no_compression,
		.headers = (const char *const *)headers,
		.dial = dial,
		.refused = refused,
		.arg = link,
		.rate = link->config.rate,
		.burst = link->config.burst,
		.log = link->config.log};
	int rc = headers != NULL ? neap_transport_new(&transport, &link->transport, err)
				 : neap_error_nomem(err);

	neap_remote_target_headers_free(headers);
	return rc;
}

int neap_link_start(struct neap_link *link, struct event_base *base,
		    const struct neap_link_events *events, void *arg,
		    struct neap_error *err)
{
	static const struct timeval every = {.tv_sec = TOKEN_SEC};

	link->events = events;
	link->arg = arg;
	neap_log_line(link->config.log, NEAP_LOG_INFO, "%s: %s (%s)", link->config.name,
		      link->target->server, link->target->source);
	if (make_transport(link, base, err) < 0)
		return -(int)err->code;
	link->heard = event_new(base, neap_dialer_fd(link->dialer), EV_READ | EV_PERSIST,
				hear, link);
	link->refresh = event_new(base, -1, EV_PERSIST, refresh, link);
	link->again = event_new(base, -1, 0, pair_due, link);
	if (link->heard == NULL || link->refresh == NULL || link->again == NULL ||
	    event_add(link->heard, NULL) < 0 || event_add(link->refresh, &every) < 0)
		return neap_error_nomem(err);
	if (link->waiting == 0) {
		link->is_ready = true;
		return use_keys(link, err) < 0 ? -(int)err->code
					       : events->ready(arg, err);
	}
	read_keys(link);
	read_file(link, LINK_TOKEN);
	return 0;
}

void neap_link_free(struct neap_link *link)
{
	if (link == NULL)
		return;
	neap_transport_free(link->transport);
	neap_remote_roots_free(link->roots);
	if (link->heard != NULL)
		event_free(link->heard);
	if (link->refresh != NULL)
		event_free(link->refresh);
	if (link->again != NULL)
		event_free(link->again);
	neap_dialer_free(link->dialer);
	for (int i = 0; i < LINK_FILES; i++) {
		free(link->texts[i]);
		free(link->fresh[i]);
	}
	neap_remote_target_free(link->target);
	free(link);
}

const struct neap_remote_target *neap_link_target(const struct neap_link *link)
{
	return link->target;
}

struct neap_transport *neap_link_transport(const struct neap_link *link)
{
	return link->transport;
}
