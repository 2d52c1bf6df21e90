/* SPDX-License-Identifier: Apache-2.0
 *
 * When each transfer runs: a queue per rank, the client-side limit, waits before a
 * repetition, and connections made by another process. transport_curl.c sets up
 * libcurl. */
#include "api/remote/transport.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/remote/transport_priv.h"
#include "engine/base/clock.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/log/log.h"

#define RUNNING_MAX 64 /* transfers at once, besides those without an end */
#define TRIES_MAX   10 /* as client-go */
#define WAIT_MAX_S  60 /* of what Retry-After asks for */
#define LONG_WAIT   1000000
/* As client-go and HTTP/2 have it: after so long without a byte the server is asked for a
 * sign, and has so long to give it; a watch must begin within both. */
#define SILENT_USEC (30 * INT64_C(1000000))
#define PING_USEC   (15 * INT64_C(1000000))
#define OPEN_USEC   (SILENT_USEC + PING_USEC)
#define CHECK_USEC  (5 * INT64_C(1000000))
#define SPARE_USEC  (10 * INT64_C(1000000))

static void set_timer(struct event *timer, int64_t after_usec)
{
	const struct timeval after = {.tv_sec = after_usec / 1000000,
				      .tv_usec = after_usec % 1000000};

	(void)event_add(timer, &after);
}

/* In the next turn of the loop. */
static void wake(struct neap_transport *transport)
{
	event_active(transport->turn, 0, 0);
}

void transfer_free(struct neap_transfer *transfer)
{
	if (transfer == NULL)
		return;
	transport_curl_close(transfer);
	neap_buf_done(&transfer->in);
	free(transfer->method);
	free(transfer->path);
	free(transfer->content_type);
	free(transfer->body);
	free(transfer);
}

static void enqueue(struct neap_transfer *transfer, bool is_first)
{
	struct transfer_list *queue = &transfer->transport->queues[transfer->rank];

	transfer->state = TRANSFER_QUEUED;
	if (is_first)
		TAILQ_INSERT_HEAD(queue, transfer, link);
	else
		TAILQ_INSERT_TAIL(queue, transfer, link);
}

int neap_transport_ask_take(struct neap_transport *transport,
			    struct neap_transport_ask *ask, struct neap_transfer **ret,
			    struct neap_error *err)
{
	struct neap_transfer *transfer = neap_alloc(sizeof(*transfer));

	if (transfer == NULL) {
		free(neap_steal(ask->body));
		return neap_error_nomem(err);
	}
	*transfer = (struct neap_transfer){
		.transport = transport,
		.method = neap_strdup(ask->method),
		.path = neap_strdup(ask->path),
		.content_type = ask->content_type ? neap_strdup(ask->content_type) : NULL,
		.body = ask->body,
		.len = ask->len,
		.rank = ask->rank,
		.timeout_usec = ask->timeout_usec,
		.most_usec = ask->most_usec,
		.is_impatient = ask->is_impatient,
		.may = ask->may,
		.data = ask->data,
		.done = ask->done,
		.arg = ask->arg,
		.asked_usec = neap_clock_steady(),
	};
	ask->body = NULL;
	neap_buf_init(&transfer->in, TRANSFER_BODY_MAX);
	if (transfer->method == NULL || transfer->path == NULL ||
	    (ask->content_type && transfer->content_type == NULL)) {
		transfer_free(transfer);
		return neap_error_nomem(err);
	}
	enqueue(transfer, false);
	wake(transport);
	if (ret != NULL)
		*ret = transfer;
	return 0;
}

/* --- the limit --- */

static bool take_token(struct neap_transport *transport, int64_t now, int64_t *ret_wait)
{
	double rate = transport->config.rate, burst = transport->config.burst;

	if (rate <= 0)
		return true;
	transport->tokens += (double)(now - transport->filled_usec) * rate / 1e6;
	transport->filled_usec = now;
	if (transport->tokens > burst)
		transport->tokens = burst;
	if (transport->tokens >= 1) {
		transport->tokens -= 1;
		return true;
	}
	*ret_wait = (int64_t)((1 - transport->tokens) * 1e6 / rate) + 1;
	return false;
}

static void note_limited(struct neap_transport *transport,
			 const struct neap_transfer *transfer, int64_t now)
{
	int64_t waited = now - transfer->asked_usec;

	if (transfer->rank != NEAP_TRANSPORT_NORMAL || transfer->tries > 0)
		return;
	transport->counts.limited_usec += waited;
	if (waited > LONG_WAIT)
		neap_log_from(transport->config.log, transport->config.name,
			      NEAP_LOG_WARN,
			      "%s: %s %s waited %lld ms for the client-side limit",
			      transport->config.name, transfer->method, transfer->path,
			      (long long)waited / 1000);
}

/* --- running --- */

static bool may_run(const struct neap_transport *transport,
		    const struct neap_transfer *transfer)
{
	return transfer->timeout_usec == 0 || transfer->rank == NEAP_TRANSPORT_VITAL ||
	       transport->running < RUNNING_MAX;
}

static struct neap_transfer *next_of(struct neap_transport *transport, int rank,
				     int64_t now, int64_t *wait)
{
	struct neap_transfer *transfer;
	int64_t more;

	for (transfer = TAILQ_FIRST(&transport->queues[rank]); transfer != NULL;
	     transfer = TAILQ_NEXT(transfer, link)) {
		if (transfer->not_before_usec > now) {
			more = transfer->not_before_usec - now;
			*wait = more < *wait ? more : *wait;
			continue;
		}
		if (!may_run(transport, transfer))
			continue;
		if (rank == NEAP_TRANSPORT_NORMAL && !transfer->has_token) {
			if (!take_token(transport, now, &more)) {
				*wait = more < *wait ? more : *wait;
				return NULL;
			}
			transfer->has_token = true;
			note_limited(transport, transfer, now);
		}
		return transfer;
	}
	return NULL;
}

static void dial(struct neap_transport *transport)
{
	if (transport->is_dialling || transport->spare_fd >= 0)
		return;
	transport->is_dialling = true;
	transport->config.dial(transport->config.arg);
}

static void start(struct neap_transfer *transfer)
{
	struct neap_transport *transport = transfer->transport;
	struct neap_error err = {0};

	TAILQ_REMOVE(&transport->queues[transfer->rank], transfer, link);
	transfer->state = TRANSFER_RUNNING;
	transfer->started_usec = neap_clock_steady();
	TAILQ_INSERT_TAIL(&transport->runs, transfer, link);
	transport->running += transfer->timeout_usec != 0;
	if (transfer->may != NULL && !transfer->may(transfer->arg))
		(void)neap_error_set(&err, NEAP_EUNAVAILABLE, "it may not be sent now");
	if (err.code != 0 || transport_curl_start(transfer, &err) < 0) {
		(void)neap_strcopy(transfer->error, sizeof(transfer->error), err.msg);
		transfer->is_over = true;
	}
}

/* Everything but what waits for a connection. */
static void run_all(struct neap_transport *transport)
{
	int64_t now = neap_clock_steady(), wait = INT64_MAX;
	struct neap_transfer *transfer;

	for (int rank = NEAP_TRANSPORT_VITAL; rank >= NEAP_TRANSPORT_NORMAL; rank--)
		while (!transport->is_dialling &&
		       (transfer = next_of(transport, rank, now, &wait)) != NULL)
			start(transfer);
	if (wait != INT64_MAX)
		set_timer(transport->turn, wait);
}

/* --- the end of a transfer --- */

static bool is_get(const struct neap_transfer *transfer)
{
	return strcmp(transfer->method, "GET") == 0;
}

static void again(struct neap_transfer *transfer, int64_t after_usec)
{
	struct neap_transport *transport = transfer->transport;

	transport->counts.retries++;
	transfer->tries++;
	transfer->not_before_usec = neap_clock_steady() + after_usec;
	transfer->has_token = transfer->was_sent = false;
	neap_buf_clear(&transfer->in);
	enqueue(transfer, false);
}

/* True: it is asked again, and is no end. */
static bool is_repeated(struct neap_transfer *transfer, long status)
{
	bool asks = (status == 429 || status >= 500) && transfer->has_retry_after;
	int wait_s = transfer->retry_after_s < WAIT_MAX_S ? transfer->retry_after_s
							  : WAIT_MAX_S;

	if (transfer->data != NULL || transfer->tries >= TRIES_MAX ||
	    transfer->is_impatient)
		return false;
	if (asks) {
		again(transfer, (int64_t)wait_s * 1000000);
		return true;
	}
	if (status == 0 && is_get(transfer) && transfer->is_broken) {
		again(transfer, 1000000);
		return true;
	}
	return false;
}

/* Without memory one is not counted. */
static void count(struct neap_transport *transport, const char *method, int status)
{
	char key[32];
	uintptr_t so_far;

	if (status != 0)
		(void)snprintf(key, sizeof(key), "%s %d", method, status);
	else
		(void)snprintf(key, sizeof(key), "%s <error>", method);
	so_far = (uintptr_t)neap_map_find(transport->requests, key);
	(void)neap_map_set(transport->requests, key, (void *)(so_far + 1));
}

static void finish(struct neap_transfer *transfer)
{
	struct neap_transport *transport = transfer->transport;
	struct neap_transport_answer answer = {
		.status = (int)transfer->status,
		.has_retry_after = transfer->has_retry_after,
		.retry_after_s = transfer->retry_after_s,
		.body = transfer->in.data,
		.len = transfer->in.len,
		.why = transfer->error,
	};

	TAILQ_REMOVE(&transport->runs, transfer, link);
	transport->running -= transfer->timeout_usec != 0;
	if (transfer->wants_fd && !transfer->is_cancelled) {
		/* Nothing was sent. */
		transfer->wants_fd = false;
		transport_curl_close(transfer);
		enqueue(transfer, true);
		dial(transport);
		return;
	}
	if (transfer->error[0] != '\0' && transfer->data == NULL)
		answer.status = 0;
	if (neap_buf_failed(&transfer->in)) {
		answer.status = 0;
		answer.why = "the answer is too long, or there is no memory for it";
	}
	answer.is_unknown = answer.status == 0 && transfer->was_sent;
	count(transport, transfer->method, answer.status);
	if (answer.status == 401 && transport->config.refused != NULL)
		transport->config.refused(transport->config.arg);
	transport_curl_close(transfer);
	if (!transfer->is_cancelled) {
		if (is_repeated(transfer, answer.status))
			return;
		transfer->done(transfer->arg, &answer);
	}
	transfer_free(transfer);
}

void transport_turn(struct neap_transport *transport)
{
	struct neap_transfer *transfer, *next;

	transport_curl_reap(transport);
	for (transfer = TAILQ_FIRST(&transport->runs); transfer != NULL;
	     transfer = next) {
		/* done may cancel others, but none is freed while it is in the list. */
		if (transfer->is_over) {
			finish(transfer);
			next = TAILQ_FIRST(&transport->runs);
		} else {
			next = TAILQ_NEXT(transfer, link);
		}
	}
	run_all(transport);
	/* What could not even start is over. */
	for (transfer = TAILQ_FIRST(&transport->runs); transfer != NULL;
	     transfer = TAILQ_NEXT(transfer, link))
		if (transfer->is_over)
			wake(transport);
}

void neap_transfer_cancel(struct neap_transfer *transfer)
{
	if (transfer == NULL)
		return;
	transfer->is_cancelled = true;
	if (transfer->state == TRANSFER_QUEUED) {
		TAILQ_REMOVE(&transfer->transport->queues[transfer->rank], transfer,
			     link);
		transfer_free(transfer);
		return;
	}
	/* It may be called from within libcurl: it ends in the next turn. */
	transfer->is_over = true;
	wake(transfer->transport);
}

void neap_transport_connected(struct neap_transport *transport, int fd, const char *why)
{
	struct neap_transfer *transfer;

	transport->is_dialling = false;
	if (fd >= 0) {
		transport->counts.connections++;
		transport->spare_fd = fd;
		transport->spare_usec = neap_clock_steady();
		wake(transport);
		return;
	}
	/* Whoever waits for it learns why; others would want one, too. */
	for (int rank = NEAP_TRANSPORT_VITAL; rank >= NEAP_TRANSPORT_NORMAL; rank--)
		while ((transfer = TAILQ_FIRST(&transport->queues[rank])) != NULL) {
			TAILQ_REMOVE(&transport->queues[rank], transfer, link);
			transfer->state = TRANSFER_RUNNING;
			TAILQ_INSERT_TAIL(&transport->runs, transfer, link);
			transport->running += transfer->timeout_usec != 0;
			(void)neap_strcopy(transfer->error, sizeof(transfer->error), why);
			transfer->is_over = true;
			transfer->is_broken = true;
		}
	wake(transport);
}

/* --- a server that is silent --- */

static void end_streams(struct neap_transport *transport, int64_t asked_before,
			const char *why)
{
	struct neap_transfer *transfer;

	for (transfer = TAILQ_FIRST(&transport->runs); transfer != NULL;
	     transfer = TAILQ_NEXT(transfer, link)) {
		if (transfer->timeout_usec != 0 || transfer->is_over ||
		    transfer->started_usec >= asked_before ||
		    (asked_before != INT64_MAX && transfer->status != 0))
			continue;
		(void)neap_strcopy(transfer->error, sizeof(transfer->error), why);
		transfer->is_over = transfer->is_broken = true;
		transport->has_http2 = false;
	}
	wake(transport);
}

static void ping_answered(void *arg, const struct neap_transport_answer *answer)
{
	struct neap_transport *transport = arg;

	transport->is_pinging = false;
	if (answer->status != 0)
		return;
	transport->silent_usec = neap_clock_steady();
	end_streams(transport, INT64_MAX, "the server is silent");
}

static void ping(struct neap_transport *transport)
{
	struct neap_transport_ask ask = {.method = "GET",
					 .path = "/version",
					 .rank = NEAP_TRANSPORT_VITAL,
					 .timeout_usec = PING_USEC,
					 .is_impatient = true,
					 .done = ping_answered,
					 .arg = transport};
	struct neap_error err;

	transport->is_pinging = neap_transport_ask_take(transport, &ask, NULL, &err) == 0;
}

/* An unused connection is closed by the server at some time. */
static void drop_spare(struct neap_transport *transport, int64_t now)
{
	if (transport->spare_fd < 0 || now - transport->spare_usec < SPARE_USEC)
		return;
	(void)close(transport->spare_fd);
	transport->spare_fd = -1;
}

/* A watch has no end by itself, and one whose connection leads nowhere says nothing. */
static void check(evutil_socket_t fd, short what, void *arg)
{
	struct neap_transport *transport = arg;
	int64_t now = neap_clock_steady();
	const struct neap_transfer *transfer;
	bool has_streams = false;

	(void)fd;
	(void)what;
	for (transfer = TAILQ_FIRST(&transport->runs); transfer != NULL;
	     transfer = TAILQ_NEXT(transfer, link))
		has_streams |= transfer->timeout_usec == 0;
	drop_spare(transport, now);
	if (!has_streams)
		return;
	end_streams(transport, now - OPEN_USEC, "the server does not answer");
	if (now - transport->heard_usec > SILENT_USEC && !transport->is_pinging)
		ping(transport);
}

static void turn(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	transport_turn(arg);
}

int neap_transport_new(const struct neap_transport_config *config,
		       struct neap_transport **ret, struct neap_error *err)
{
	struct neap_transport *transport = neap_alloc(sizeof(*transport));

	if (transport == NULL)
		return neap_error_nomem(err);
	transport->config = *config;
	if (transport->config.name == NULL)
		transport->config.name = "api server";
	transport->spare_fd = -1;
	transport->tokens = config->burst;
	transport->filled_usec = neap_clock_steady();
	for (int rank = 0; rank < NEAP_TRANSPORT_RANKS; rank++)
		TAILQ_INIT(&transport->queues[rank]);
	TAILQ_INIT(&transport->runs);
	transport->heard_usec = neap_clock_steady();
	transport->turn = event_new(config->base, -1, 0, turn, transport);
	transport->check = event_new(config->base, -1, EV_PERSIST, check, transport);
	transport->requests = neap_map_new();
	if (transport->turn == NULL || transport->check == NULL ||
	    transport->requests == NULL)
		(void)neap_error_nomem(err);
	if (transport->turn == NULL || transport->check == NULL ||
	    transport->requests == NULL || transport_curl_open(transport, err) < 0) {
		neap_transport_free(transport);
		return -(int)err->code;
	}
	set_timer(transport->check, CHECK_USEC);
	*ret = transport;
	return 0;
}

void neap_transport_free(struct neap_transport *transport)
{
	struct neap_transfer *transfer;

	if (transport == NULL)
		return;
	for (int rank = NEAP_TRANSPORT_VITAL; rank >= NEAP_TRANSPORT_NORMAL; rank--)
		while ((transfer = TAILQ_FIRST(&transport->queues[rank])) != NULL) {
			TAILQ_REMOVE(&transport->queues[rank], transfer, link);
			transfer_free(transfer);
		}
	while ((transfer = TAILQ_FIRST(&transport->runs)) != NULL) {
		TAILQ_REMOVE(&transport->runs, transfer, link);
		transfer_free(transfer);
	}
	if (transport->turn != NULL)
		event_free(transport->turn);
	if (transport->check != NULL)
		event_free(transport->check);
	transport_curl_shut(transport);
	neap_map_free(transport->requests);
	free(transport);
}
