/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by transport.c (which transfer runs when) and transport_curl.c (libcurl). */
#ifndef NEAP_API_REMOTE_TRANSPORT_PRIV_H
#define NEAP_API_REMOTE_TRANSPORT_PRIV_H

#include <curl/curl.h>
#include <sys/queue.h>

#include "api/remote/transport.h"
#include "engine/base/buf.h"

struct event;
struct neap_map;

/* Limit of an answer that is passed on in one piece: an object, a Status, a list of
 * kinds. */
#define TRANSFER_BODY_MAX ((size_t)8 * 1024 * 1024)

/* Counts since the start. */
struct transport_counts {
	uint64_t retries;
	uint64_t bytes_in;
	uint64_t connections;
	int64_t limited_usec; /* waited for the limit */
};

enum transfer_state { TRANSFER_QUEUED, TRANSFER_RUNNING };

struct neap_transfer {
	struct neap_transport *transport;
	TAILQ_ENTRY(neap_transfer) link;
	char *method, *path, *content_type, *body;
	size_t len, body_at; /* of body; sent of it */
	enum neap_transport_rank rank;
	int64_t timeout_usec, most_usec, asked_usec, started_usec, not_before_usec;
	bool is_impatient;
	bool (*may)(void *arg);
	bool (*data)(void *arg, const char *bytes, size_t len);
	void (*done)(void *arg, const struct neap_transport_answer *answer);
	void *arg;

	enum transfer_state state;
	bool has_token;    /* of the limit */
	bool wants_fd;     /* it met no open connection */
	bool is_over;      /* to be finished in the next turn */
	bool is_cancelled; /* nobody waits for it */
	int tries;

	CURL *easy;
	struct curl_slist *headers;
	struct neap_buf in;
	long status;
	bool has_retry_after, was_sent, is_broken;
	bool is_withheld; /* its body was not sent, as it was not to be any more */
	int retry_after_s;
	char error[CURL_ERROR_SIZE]; /* "": it came to a good end */
};

TAILQ_HEAD(transfer_list, neap_transfer);

struct neap_transport {
	struct neap_transport_config config;
	struct transfer_list queues[NEAP_TRANSPORT_RANKS];
	struct transfer_list runs;
	int running; /* with an end */
	struct event *turn, *check;
	int64_t heard_usec;  /* when a byte of the server came */
	int64_t silent_usec; /* when it was found silent last; 0: never */
	int64_t spare_usec;  /* when spare_fd came */
	bool is_pinging;
	bool has_http2; /* ... as far as was seen */
	double tokens;
	int64_t filled_usec;
	bool is_dialling;
	int spare_fd; /* connected, for the next that wants one; -1 */
	struct transport_counts counts;
	struct neap_map *requests; /* "GET 200": how many, as the pointer */
	char host_port[272];

	/* --- transport_curl.c --- */
	CURLM *multi;
	struct event *timer;
	char *url, *proxy, *agent;
	char *host; /* header, where the URL has another name; NULL */
	char *ca, *cert, *key, *bearer, *user, *password;
	struct curl_slist *headers, *extra, *resolve, *connect_to;
	struct neap_map *warnings; /* texts that were logged */
};

/* Handles what has ended, and starts what may start. */
void transport_turn(struct neap_transport *transport);
void transfer_free(struct neap_transfer *transfer);

int transport_curl_open(struct neap_transport *transport, struct neap_error *err);
void transport_curl_shut(struct neap_transport *transport);
int transport_curl_start(struct neap_transfer *transfer, struct neap_error *err);
/* Lets go of libcurl's part; twice is fine. */
void transport_curl_close(struct neap_transfer *transfer);
/* Marks what libcurl has ended. */
void transport_curl_reap(struct neap_transport *transport);

#endif
