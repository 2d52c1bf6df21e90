/* SPDX-License-Identifier: Apache-2.0
 *
 * The process that connects. All dials run concurrently: a look-up has a thread, a
 * connect is non-blocking. The addresses of a name are tried in turn, and each gets its
 * share of the remaining time; the one that answered last is tried first the next
 * time. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "hw/dialer/dialer_priv.h"
#include "hw/packet.h"

#define DNS_PORT     53
#define FOLDER_SIZE  512
#define IDLE_SEC     30 /* before the first probe of a connection */
#define PROBE_SEC    15
#define LOST_MSEC    45000 /* data without an answer */
#define RETRY_MSEC   100   /* when the kernel lacks memory to send */
#define ADDRESS_TEXT (INET6_ADDRSTRLEN + 2)

enum state { FREE, WAITING, LOOKING, CONNECTING, ANSWERING };

struct dial {
	enum state state;
	unsigned server;
	uint64_t id;     /* of the request */
	uint64_t number; /* of the dial, counted from 1 */
	int64_t until, address_until;
	int fd; /* while connecting; when answering: the result, or -1 */
	struct neap_dialer_addresses found;
	size_t next; /* address to try next */
	char why[NEAP_DIALER_WHY];
};

struct dialing {
	const struct neap_dialer_config *config;
	int sock;
	struct neap_lookups *lookups;
	struct sockaddr_storage *good; /* per server, the address that answered last */
	uint64_t count;
	bool lacks_room; /* for an answer */
	struct dial dials[NEAP_DIALER_REQUESTS];
};

static void address_format(const struct sockaddr_storage *address, char ret[ADDRESS_TEXT])
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
	const void *from = address->ss_family == AF_INET6 ? (const void *)&six->sin6_addr
							  : &four->sin_addr;

	if (!inet_ntop(address->ss_family, from, ret, ADDRESS_TEXT))
		(void)neap_strcopy(ret, ADDRESS_TEXT, "?");
}

/* --- the end of a dial --- */

static void why_add(struct dial *dial, const char *what, const char *reason)
{
	size_t len = strlen(dial->why);

	(void)snprintf(dial->why + len, sizeof(dial->why) - len, "%s%s: %s",
		       len ? "; " : "", what, reason);
}

static void dial_fail(struct dial *dial)
{
	neap_fd_close(&dial->fd);
	dial->state = ANSWERING;
}

/* Sends what is to be answered. False when the loop is gone. */
static bool answers_send(struct dialing *dialing)
{
	dialing->lacks_room = false;
	for (size_t i = 0; i < NEAP_DIALER_REQUESTS && !dialing->lacks_room; i++) {
		struct dial *dial = &dialing->dials[i];
		struct neap_dialer_packet head = {
			.magic = NEAP_DIALER_MAGIC,
			.op = NEAP_DIALER_CONNECT,
			.index = dial->server,
			.code = dial->fd < 0 ? NEAP_EUNAVAILABLE : 0,
			.id = dial->id,
			.is_last = 1,
			.len = dial->fd < 0 ? (uint32_t)strlen(dial->why) : 0,
		};
		int rc;

		if (dial->state != ANSWERING)
			continue;
		rc = neap_dialer_send(dialing->sock, &head, dial->why, dial->fd);
		if (rc < 0)
			return false;
		dialing->lacks_room = rc == 0;
		if (rc > 0) {
			neap_fd_close(&dial->fd);
			dial->state = FREE;
		}
	}
	return true;
}

/* --- connecting --- */

static bool options_set(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{IPPROTO_TCP, TCP_NODELAY, 1},
		{SOL_SOCKET, SO_KEEPALIVE, 1},
		{IPPROTO_TCP, TCP_KEEPIDLE, IDLE_SEC},
		{IPPROTO_TCP, TCP_KEEPINTVL, PROBE_SEC},
		{IPPROTO_TCP, TCP_USER_TIMEOUT, LOST_MSEC},
	};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(options); i++)
		if (setsockopt(fd, options[i].level, options[i].name, &options[i].value,
			       sizeof(options[i].value)) < 0)
			return false;
	return true;
}

static void connected(struct dialing *dialing, struct dial *dial)
{
	dialing->good[dial->server] = dial->found.list[dial->next - 1];
	dial->state = ANSWERING;
}

/* The address that was tried last did not answer. */
static void address_fail(struct dial *dial, const char *reason)
{
	char text[ADDRESS_TEXT];

	neap_fd_close(&dial->fd);
	address_format(&dial->found.list[dial->next - 1], text);
	why_add(dial, text, reason);
}

/* Starts with the next address, or with the one behind it where that fails at once. */
static void address_next(struct dialing *dialing, struct dial *dial, int64_t now)
{
	while (dial->next < dial->found.count) {
		size_t at = dial->next++;
		const struct sockaddr_storage *address = &dial->found.list[at];

		dial->state = CONNECTING;
		dial->address_until =
			now + (dial->until - now) / (int64_t)(dial->found.count - at);
		dial->fd = socket(address->ss_family,
				  SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (dial->fd >= 0 && options_set(dial->fd) &&
		    connect(dial->fd, (const struct sockaddr *)address,
			    dial->found.len[at]) == 0) {
			connected(dialing, dial);
			return;
		}
		if (dial->fd >= 0 && errno == EINPROGRESS)
			return;
		address_fail(dial, strerror(errno));
	}
	dial_fail(dial);
}

static void connect_look(struct dialing *dialing, struct dial *dial, int64_t now)
{
	socklen_t len = sizeof(int);
	int reason = 0;

	if (getsockopt(dial->fd, SOL_SOCKET, SO_ERROR, &reason, &len) < 0)
		reason = errno;
	if (reason == 0) {
		connected(dialing, dial);
		return;
	}
	address_fail(dial, strerror(reason));
	address_next(dialing, dial, now);
}

/* Puts the address that answered last before the others. */
static void good_first(const struct sockaddr_storage *good,
		       struct neap_dialer_addresses *found)
{
	for (size_t i = 1; i < found->count; i++) {
		struct sockaddr_storage first = found->list[0];
		socklen_t len = found->len[0];

		if (memcmp(&found->list[i], good, sizeof(*good)) != 0)
			continue;
		found->list[0] = found->list[i];
		found->len[0] = found->len[i];
		found->list[i] = first;
		found->len[i] = len;
	}
}

static void dial_found(struct dialing *dialing, struct dial *dial, int64_t now)
{
	if (dial->found.count == 0) {
		(void)neap_strcopy(dial->why, sizeof(dial->why), dial->found.why);
		dial_fail(dial);
		return;
	}
	good_first(&dialing->good[dial->server], &dial->found);
	address_next(dialing, dial, now);
}

/* --- look-ups --- */

static void lookups_take(struct dialing *dialing, int64_t now)
{
	struct neap_dialer_addresses found;
	uint64_t number;

	while (neap_lookups_next(dialing->lookups, &number, &found))
		for (size_t i = 0; i < NEAP_DIALER_REQUESTS; i++) {
			struct dial *dial = &dialing->dials[i];

			/* Else nobody waits for it any more. */
			if (dial->state == LOOKING && dial->number == number) {
				dial->found = found;
				dial_found(dialing, dial, now);
			}
		}
}

/* Starts look-ups for the dials that have waited longest. */
static void lookups_start(struct dialing *dialing)
{
	while (neap_lookups_has_room(dialing->lookups)) {
		const struct neap_dialer_server *server;
		struct dial *first = NULL;

		for (size_t i = 0; i < NEAP_DIALER_REQUESTS; i++) {
			struct dial *dial = &dialing->dials[i];

			if (dial->state == WAITING &&
			    (!first || dial->number < first->number))
				first = dial;
		}
		if (!first)
			return;
		server = &dialing->config->servers[first->server];
		first->state = LOOKING;
		if (!neap_lookups_start(dialing->lookups, server->host, server->port,
					first->number)) {
			why_add(first, server->host, "no thread for the look-up");
			dial_fail(first);
		}
	}
}

/* --- the loop --- */

static struct dial *dial_free(struct dialing *dialing)
{
	for (size_t i = 0; i < NEAP_DIALER_REQUESTS; i++)
		if (dialing->dials[i].state == FREE)
			return &dialing->dials[i];
	return NULL;
}

static void dial_start(struct dialing *dialing, struct dial *dial,
		       const struct neap_dialer_packet *request, int64_t now)
{
	const struct neap_dialer_config *config = dialing->config;
	const struct neap_dialer_server *server;

	dial->state = WAITING;
	dial->server = 0;
	dial->id = request->id;
	dial->number = ++dialing->count;
	dial->fd = -1;
	dial->next = 0;
	dial->why[0] = '\0';
	dial->until =
		now + (config->timeout_usec ? config->timeout_usec : NEAP_DIALER_USEC);
	if (request->op != NEAP_DIALER_CONNECT ||
	    request->index >= config->server_count) {
		why_add(dial, "dial", "no server of this number");
		dial_fail(dial);
		return;
	}
	dial->server = request->index;
	server = &config->servers[dial->server];
	if (neap_lookup_is_address(server->host, server->port, &dial->found))
		dial_found(dialing, dial, now);
}

/* Takes requests while there is room; more wait in the socket. False when the loop is
 * gone, or says what it never says. */
static bool requests_take(struct dialing *dialing, int64_t now)
{
	struct dial *dial;

	while ((dial = dial_free(dialing)) != NULL) {
		struct neap_dialer_packet request = {0};
		int fd = -1;
		ssize_t n = neap_packet_receive(dialing->sock, &request, sizeof(request),
						&fd);

		neap_fd_close(&fd);
		if (n < 0 && errno == EAGAIN)
			return true;
		if (n != sizeof(request) || request.magic != NEAP_DIALER_MAGIC)
			return false;
		dial_start(dialing, dial, &request, now);
	}
	return true;
}

static void times_look(struct dialing *dialing, int64_t now)
{
	for (size_t i = 0; i < NEAP_DIALER_REQUESTS; i++) {
		struct dial *dial = &dialing->dials[i];
		const bool is_over = now >= dial->until;

		if (dial->state == CONNECTING && now >= dial->address_until) {
			address_fail(dial, "no answer in time");
			if (is_over)
				dial_fail(dial);
			else
				address_next(dialing, dial, now);
		} else if ((dial->state == WAITING || dial->state == LOOKING) &&
			   is_over) {
			why_add(dial, dialing->config->servers[dial->server].host,
				"the look-up of the name took too long");
			dial_fail(dial);
		}
	}
}

/* Milliseconds until something is to be done, -1 for never. */
static int wait_msec(const struct dialing *dialing, int64_t now)
{
	int64_t until = INT64_MAX;

	if (dialing->lacks_room)
		until = now + RETRY_MSEC * INT64_C(1000);
	for (size_t i = 0; i < NEAP_DIALER_REQUESTS; i++) {
		const struct dial *dial = &dialing->dials[i];
		int64_t mine =
			dial->state == CONNECTING ? dial->address_until : dial->until;

		if (dial->state != FREE && dial->state != ANSWERING && mine < until)
			until = mine;
	}
	if (until == INT64_MAX)
		return -1;
	return until <= now ? 0 : (int)((until - now) / 1000) + 1;
}

/* One turn. False when the loop is gone. */
static bool turn(struct dialing *dialing)
{
	struct pollfd p[2 + NEAP_DIALER_REQUESTS] = {
		{.fd = dialing->sock, .events = dial_free(dialing) ? POLLIN : 0},
		{.fd = neap_lookups_fd(dialing->lookups), .events = POLLIN},
	};
	struct dial *dials[2 + NEAP_DIALER_REQUESTS];
	size_t count = 2;
	int64_t now = neap_clock_usec(CLOCK_MONOTONIC);

	if (dialing->lacks_room)
		p[0].events |= POLLOUT;
	for (size_t i = 0; i < NEAP_DIALER_REQUESTS; i++) {
		if (dialing->dials[i].state != CONNECTING)
			continue;
		dials[count] = &dialing->dials[i];
		p[count++] =
			(struct pollfd){.fd = dialing->dials[i].fd, .events = POLLOUT};
	}
	if (poll(p, count, wait_msec(dialing, now)) < 0)
		return errno == EINTR || errno == EAGAIN || errno == ENOMEM;
	now = neap_clock_usec(CLOCK_MONOTONIC);
	for (size_t i = 2; i < count; i++)
		if (p[i].revents)
			connect_look(dialing, dials[i], now);
	if (p[1].revents)
		lookups_take(dialing, now);
	times_look(dialing, now);
	if ((p[0].revents & POLLHUP) ||
	    ((p[0].revents & POLLIN) && !requests_take(dialing, now)))
		return false;
	lookups_start(dialing);
	return answers_send(dialing);
}

static int confine(const struct neap_dialer_config *config, const struct neap_log *log,
		   struct neap_error *err)
{
	char resolver[FOLDER_SIZE], hosts[FOLDER_SIZE];
	const char *const folders[] = {"/etc", resolver, hosts};
	uint16_t ports[NEAP_DIALER_SERVERS + 1] = {DNS_PORT};
	struct neap_dialer_jail jail = {
		.kind = NEAP_JAIL_DIALER,
		.folders = folders,
		.folder_count = NEAP_ARRAY_LEN(folders),
		.ports = ports,
		.port_count = config->server_count + 1,
	};

	neap_dialer_folder("/etc/resolv.conf", true, resolver, sizeof(resolver));
	neap_dialer_folder("/etc/hosts", true, hosts, sizeof(hosts));
	for (size_t i = 0; i < config->server_count; i++)
		ports[i + 1] = config->servers[i].port;
	return neap_dialer_confine(config, &jail, log, err);
}

_Noreturn void neap_dialer_serve(const struct neap_dialer_config *config, int sock)
{
	struct dialing *dialing = neap_alloc(sizeof(*dialing));
	struct neap_log log = *config->log;
	struct neap_error err = {0};
	int rc;

	log.program = "neap-dialer";
	rc = neap_dialer_begin(config, "neap-dialer", sock, &err);
	if (rc == 0 && dialing) {
		dialing->config = config;
		dialing->sock = sock;
		dialing->lookups = neap_lookups_new();
		dialing->good =
			neap_alloc_array(config->server_count, sizeof(*dialing->good));
	}
	if (rc == 0 && (!dialing || !dialing->lookups || !dialing->good))
		rc = neap_error_nomem(&err);
	if (rc == 0)
		rc = confine(config, &log, &err);
	neap_dialer_hello(sock, rc, &err);
	if (rc < 0)
		_exit(1);
	while (turn(dialing))
		;
	_exit(0);
}
