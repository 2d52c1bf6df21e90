/* SPDX-License-Identifier: Apache-2.0
 *
 * Look-ups of names, each in a thread of its own: getaddrinfo(3) blocks for half a minute
 * and more when no DNS server answers. There are few threads, and an abandoned look-up
 * still occupies its thread until it ends. */
#include <errno.h>
#include <nss.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "hw/dialer/dialer_priv.h"

#define THREADS 8

struct lookup {
	struct lookup *next;
	struct neap_lookups *lookups;
	const char *host;
	uint16_t port;
	uint64_t id;
	struct neap_dialer_addresses found;
};

struct neap_lookups {
	int fd;
	int running;          /* known to the one who starts them alone */
	pthread_mutex_t lock; /* of ended */
	struct lookup *ended;
};

static int resolve(const char *host, uint16_t port, int flags,
		   struct neap_dialer_addresses *ret)
{
	const struct addrinfo hints = {.ai_family = AF_UNSPEC,
				       .ai_socktype = SOCK_STREAM,
				       .ai_flags = flags | AI_NUMERICSERV};
	struct addrinfo *list = NULL;
	char service[8];
	int rc;

	(void)snprintf(service, sizeof(service), "%u", port);
	ret->count = 0;
	rc = getaddrinfo(host, service, &hints, &list);
	for (struct addrinfo *at = list; rc == 0 && at; at = at->ai_next) {
		if (ret->count == NEAP_DIALER_ADDRESSES)
			break;
		if ((at->ai_family != AF_INET && at->ai_family != AF_INET6) ||
		    at->ai_addrlen > sizeof(ret->list[0]))
			continue;
		memcpy(&ret->list[ret->count], at->ai_addr, at->ai_addrlen);
		ret->len[ret->count++] = at->ai_addrlen;
	}
	if (rc == 0)
		freeaddrinfo(list);
	if (ret->count == 0)
		(void)snprintf(ret->why, sizeof(ret->why), "look up %.120s: %s", host,
			       rc == EAI_SYSTEM ? strerror(errno)
			       : rc             ? gai_strerror(rc)
						: "no address");
	return rc;
}

bool neap_lookup_is_address(const char *host, uint16_t port,
			    struct neap_dialer_addresses *ret)
{
	return resolve(host, port, AI_NUMERICHOST, ret) != EAI_NONAME;
}

static void *run(void *arg)
{
	const uint64_t one = 1;
	struct lookup *lookup = arg;
	struct neap_lookups *lookups = lookup->lookups;

	(void)resolve(lookup->host, lookup->port, 0, &lookup->found);
	(void)pthread_mutex_lock(&lookups->lock);
	lookup->next = lookups->ended;
	lookups->ended = lookup;
	(void)pthread_mutex_unlock(&lookups->lock);
	if (write(lookups->fd, &one, sizeof(one)) < 0)
		return NULL; /* it is readable already */
	return NULL;
}

struct neap_lookups *neap_lookups_new(void)
{
	struct neap_lookups *lookups = neap_alloc(sizeof(*lookups));

	if (!lookups)
		return NULL;
	/* A function of glibc: no modules are loaded, and no cache is asked. */
	(void)__nss_configure_lookup("hosts", "files dns");
	lookups->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (lookups->fd < 0 || pthread_mutex_init(&lookups->lock, NULL) != 0) {
		neap_cleanup_fd(&lookups->fd);
		free(lookups);
		return NULL;
	}
	return lookups;
}

int neap_lookups_fd(const struct neap_lookups *lookups)
{
	return lookups->fd;
}

bool neap_lookups_has_room(const struct neap_lookups *lookups)
{
	return lookups->running < THREADS;
}

bool neap_lookups_start(struct neap_lookups *lookups, const char *host, uint16_t port,
			uint64_t id)
{
	struct lookup *lookup = neap_alloc(sizeof(*lookup));
	pthread_t thread;

	if (!lookup)
		return false;
	lookup->lookups = lookups;
	lookup->host = host;
	lookup->port = port;
	lookup->id = id;
	if (pthread_create(&thread, NULL, run, lookup) != 0) {
		free(lookup);
		return false;
	}
	(void)pthread_detach(thread);
	lookups->running++;
	return true;
}

bool neap_lookups_next(struct neap_lookups *lookups, uint64_t *ret_id,
		       struct neap_dialer_addresses *ret)
{
	struct lookup *lookup;
	uint64_t count;

	if (read(lookups->fd, &count, sizeof(count)) < 0)
		count = 0; /* it was read for one that ended before */
	(void)pthread_mutex_lock(&lookups->lock);
	lookup = lookups->ended;
	if (lookup)
		lookups->ended = lookup->next;
	(void)pthread_mutex_unlock(&lookups->lock);
	if (!lookup)
		return false;
	lookups->running--;
	*ret_id = lookup->id;
	*ret = lookup->found;
	free(lookup);
	return true;
}
