/* SPDX-License-Identifier: Apache-2.0 */
#include "api/daemon/roles.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "api/extender/extender.h"
#include "api/http/server.h"
#include "engine/base/mem.h"

/* The extender serves only a few schedulers, so the API gets the other descriptors. */
#define CONNECTIONS_MAX 64

struct neap_daemon_extender {
	int fd; /* -1 once the server has it */
	struct neap_http *http;
	struct neap_extender *extender;
};

int neap_daemon_extender_open(const struct neap_config *config,
			      struct neap_daemon_extender **ret, struct neap_error *err)
{
	struct neap_daemon_extender *extender;
	int failed;

	if (strcmp(config->extender_listen, "off") == 0)
		return 0;
	extender = neap_alloc(sizeof(*extender));
	if (!extender)
		return neap_error_nomem(err);
	extender->fd = -1;
	failed = neap_http_bind_tcp(config->extender_listen, &extender->fd, err);
	if (failed < 0) {
		free(extender);
		return failed;
	}
	*ret = extender;
	return 0;
}

/* Logs the address, with the port that the kernel chose if the option has none. */
static void tell(const struct neap_daemon_extender *extender,
		 const struct neap_process *process, bool is_plain)
{
	struct sockaddr_storage addr = {0};
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&addr;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&addr;
	socklen_t len = sizeof(addr);
	const char *listen = process->config.extender_listen;
	const char *colon = strrchr(listen, ':');

	if (getsockname(extender->fd, (struct sockaddr *)&addr, &len) < 0 || !colon)
		return;
	neap_log_line(&process->log, NEAP_LOG_INFO,
		      "extender: %s://%.*s:%u/extender/v1%s", is_plain ? "http" : "https",
		      (int)(colon - listen), listen,
		      (unsigned)ntohs(addr.ss_family == AF_INET6 ? v6->sin6_port
								 : v4->sin_port),
		      is_plain ? ", without bind" : "");
}

int neap_daemon_extender_start(struct neap_daemon_extender *extender,
			       const struct neap_process *process, struct neap_tls *tls,
			       struct neap_error *err)
{
	const struct neap_config *options = &process->config;
	bool is_plain = options->extender_plain;
	/* No tokens: a kube-scheduler sends a certificate, or nothing. */
	struct neap_http_config http = {
		.listen_fd_name = options->extender_listen,
		.tcp_fd = -1,
		.tls_fd = -1,
		.unix_fd = -1,
		.own_uid = process->account.uid,
		.limits = {.known_max = CONNECTIONS_MAX},
		.host_names = options->host_names,
	};
	struct neap_extender_config config = {
		/* The rights of pods/binding (rights.h). */
		.bind_role = is_plain            ? NEAP_HTTP_UNSET
			     : options->run_pods ? NEAP_HTTP_ADMIN
						 : NEAP_HTTP_EDITOR,
		.deadline_usec = options->extender_deadline_usec,
		.log = &process->log,
	};

	if (!extender)
		return 0;
	if (is_plain) {
		http.tcp_fd = extender->fd;
		http.plain_role = NEAP_HTTP_READER;
	} else {
		http.tls_fd = extender->fd;
		http.tls = tls;
		http.grants = &options->grants;
	}
	tell(extender, process, is_plain);
	if (neap_http_new(process->base, &http, &extender->http, err) < 0)
		return -(int)err->code;
	extender->fd = -1;
	config.http = extender->http;
	return neap_extender_new(&config, &extender->extender, err);
}

void neap_daemon_extender_set(struct neap_daemon_extender *extender,
			      struct neap_scheduler *scheduler)
{
	if (extender && extender->extender)
		neap_extender_set_scheduler(extender->extender, scheduler);
}

void neap_daemon_extender_free(struct neap_daemon_extender *extender)
{
	if (!extender)
		return;
	neap_http_free(extender->http);
	neap_extender_free(extender->extender);
	neap_cleanup_fd(&extender->fd);
	free(extender);
}
