/* SPDX-License-Identifier: Apache-2.0
 *
 * HTTP requests to one server, on the event loop: libcurl with HTTP/2 if the server
 * offers it. It knows nothing of Kubernetes except how its servers limit clients: a
 * request answered with Retry-After is repeated after that time, and a client-side limit
 * bounds the rate.
 *
 * Everything runs on the loop's thread. Callbacks may start and cancel requests. */
#ifndef NEAP_API_REMOTE_TRANSPORT_H
#define NEAP_API_REMOTE_TRANSPORT_H

#include "engine/base/error.h"

struct event_base;
struct neap_log;
struct neap_transport;
struct neap_transfer;
struct x509_store_st;

/* What authenticates the server, and this process to it. All texts are PEM or plain, and
 * may be NULL. */
struct neap_transport_keys {
	const char *ca, *cert, *key;
	const char *token; /* sent as bearer; wins over user and password */
	const char *user, *password;
};

struct neap_transport_config {
	struct event_base *base;
	const char *name;     /* of the server, in log lines; NULL: "api server" */
	const char *url;      /* "https://host:port/path", without a slash at its end */
	const char *proxy;    /* NULL: none */
	const char *tls_name; /* that the server's certificate must have; NULL: host */
	bool is_insecure;     /* the server is not authenticated */
	/* The certificate authorities of the system (roots.h), borrowed. They count
	 * while the keys name no CA. NULL: libcurl reads them at each connection. */
	struct x509_store_st *roots;
	bool has_no_compression;
	/* "Impersonate-User: name"; NULL-terminated; NULL: none. Copied. */
	const char *const *headers;
	/* Requests a connection, which neap_transport_connected passes back. NULL:
	 * libcurl connects by itself. */
	void (*dial)(void *arg);
	/* Called when the server refused the token, which may be read again then. May be
	 * NULL. */
	void (*refused)(void *arg);
	void *arg;
	double rate, burst; /* requests per second, and at once; rate 0: no limit */
	const struct neap_log *log;
};

struct neap_transport_answer {
	int status; /* of HTTP; 0: there was no answer, and why says what failed */
	/* Without an answer: the server may have executed the request. */
	bool is_unknown;
	bool has_retry_after;
	int retry_after_s;
	const char *body; /* complete, with a NUL behind it; "" when data took it */
	size_t len;
	const char *why;
};

enum neap_transport_rank {
	NEAP_TRANSPORT_NORMAL,
	/* Not limited, and sent before others: bindings, watches. */
	NEAP_TRANSPORT_URGENT,
	/* Sent even when many requests are pending: Leases. */
	NEAP_TRANSPORT_VITAL,
	NEAP_TRANSPORT_RANKS
};

struct neap_transport_ask {
	const char *method, *path; /* "/api/v1/pods?limit=500"; copied */
	const char *content_type;  /* of body; copied */
	char *body;                /* from malloc, taken; NULL: none */
	size_t len;
	enum neap_transport_rank rank;
	int64_t timeout_usec; /* 0: none, for watches */
	int64_t most_usec;    /* of a watch: it ends by then */
	/* An answer with Retry-After is passed to done at once. */
	bool is_impatient;
	/* Called right before the request is sent, which may be long after it was made;
	 * false ends it unsent. NULL: it is always sent. */
	bool (*may)(void *arg);
	/* Gets the pieces of a body with status 200 as they come; false ends the
	 * transfer, and done is called. NULL: done gets the whole body. */
	bool (*data)(void *arg, const char *bytes, size_t len);
	/* Called once, from the loop, and not after neap_transfer_cancel. */
	void (*done)(void *arg, const struct neap_transport_answer *answer);
	void *arg;
};

/* Initialises libcurl and opens what it needs of the system; call it before entering a
 * jail. */
int neap_transport_setup(struct neap_error *err);
/* Everything in config is copied except base, log and roots. */
int neap_transport_new(const struct neap_transport_config *config,
		       struct neap_transport **ret, struct neap_error *err);
/* Transfers are cancelled. NULL is fine. */
void neap_transport_free(struct neap_transport *transport);
/* Sets the credentials for further connections and requests. Copied. */
int neap_transport_set_keys(struct neap_transport *transport,
			    const struct neap_transport_keys *keys,
			    struct neap_error *err);
/* Answers dial: fd is a connected socket, taken; -1: why says what failed. */
void neap_transport_connected(struct neap_transport *transport, int fd, const char *why);
/* Starts a transfer, soon. *ret (may be NULL) is valid until done is called. On an error
 * done is not called. */
int neap_transport_ask_take(struct neap_transport *transport,
			    struct neap_transport_ask *ask, struct neap_transfer **ret,
			    struct neap_error *err);
/* done will not be called. NULL is fine. */
void neap_transfer_cancel(struct neap_transfer *transfer);

#endif
