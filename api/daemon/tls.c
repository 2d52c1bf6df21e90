/* SPDX-License-Identifier: Apache-2.0
 *
 * The certificate of a running daemon: read again when its files change; a warning comes
 * before it expires. The loop does this as its own user. A key that only root can read is
 * read once, at the start; after that a new certificate for the same key is still
 * accepted. */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/daemon/role_server.h"
#include "engine/base/mem.h"

/* Files that are written one after the other must be complete within one interval. */
#define LOOK_S 1
#define DAY_S  INT64_C(86400)
#define SOON_S (7 * DAY_S)

struct neap_daemon_tls {
	struct neap_tls *tls;
	const struct neap_log *log;
	struct neap_role_server *server;
	struct event *look;
	int64_t warned_sec; /* when the coming expiry was reported; 0: not yet */
};

int neap_daemon_tls_load(const struct neap_process *process, struct neap_tls **ret,
			 struct neap_error *err)
{
	const struct neap_config *config = &process->config;
	const struct neap_tls_config tls = {
		.cert_file = config->tls_cert,
		.key_file = config->tls_key,
		.client_ca_file = config->tls_client_ca,
		.own_uid = process->account.uid,
	};

	if (config->tls_cert[0] == '\0' ||
	    (!neap_config_has_tcp(config) && strcmp(config->extender_listen, "off") == 0))
		return 0;
	return neap_tls_new(&tls, ret, err);
}

static void tell_service(const struct neap_daemon_tls *watch, const char *what)
{
	const struct neap_tls_facts *facts = neap_tls_facts_get(watch->tls);

	neap_log_line(watch->log, NEAP_LOG_INFO, "tls: %s of %s, valid until %s", what,
		      facts->subject, facts->not_after);
}

/* Warns once a day, from a week before the expiry. After a jump back of the clock it
 * warns again. */
static void warn(struct neap_daemon_tls *watch)
{
	const struct neap_tls_facts *facts = neap_tls_facts_get(watch->tls);
	int64_t now = (int64_t)time(NULL), left = facts->not_after_sec - now;

	if (left >= SOON_S || (watch->warned_sec != 0 && now >= watch->warned_sec &&
			       now - watch->warned_sec < DAY_S))
		return;
	watch->warned_sec = now;
	if (left < 0)
		neap_log_line(
			watch->log, NEAP_LOG_ERROR,
			"tls: the certificate of %s expired on %s: clients refuse it",
			facts->subject, facts->not_after);
	else
		neap_log_line(watch->log, NEAP_LOG_WARN,
			      "tls: the certificate of %s ends on %s, in %lld day%s",
			      facts->subject, facts->not_after, (long long)(left / DAY_S),
			      left / DAY_S == 1 ? "" : "s");
}

static void look(struct neap_daemon_tls *watch, bool is_asked)
{
	struct neap_error err;
	int r = neap_tls_look(watch->tls, is_asked, &err);

	if (r < 0)
		neap_log_line(watch->log, NEAP_LOG_ERROR,
			      "tls: the certificate stays as it was: %s", err.msg);
	if (r > 0) {
		watch->warned_sec = 0;
		tell_service(watch, "a new certificate");
		neap_kubeconfig_renew(watch->server);
	}
	warn(watch);
}

static void look_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	look(arg, false);
}

void neap_daemon_tls_look(struct neap_daemon_tls *watch)
{
	if (watch != NULL)
		look(watch, true);
}

int neap_daemon_tls_start(struct neap_role_server *server, struct neap_error *err)
{
	static const struct timeval each = {LOOK_S, 0};
	const struct neap_process *process = server->process;
	const char *key = process->config.tls_key;
	struct neap_daemon_tls *watch = neap_alloc(sizeof(*watch));

	if (watch == NULL)
		return neap_error_nomem(err);
	watch->tls = server->tls;
	watch->log = &process->log;
	watch->server = server;
	watch->look = event_new(process->base, -1, EV_PERSIST, look_cb, watch);
	if (watch->look == NULL || event_add(watch->look, &each) < 0) {
		neap_daemon_tls_free(watch);
		return neap_error_nomem(err);
	}
	tell_service(watch, "certificate");
	if (access(key, R_OK) < 0)
		neap_log_line(watch->log, NEAP_LOG_WARN,
			      "tls: uid %u may not read --tls-key %s: a certificate with "
			      "another key will need a restart of neapd",
			      (unsigned)geteuid(), key);
	warn(watch);
	server->tls_watch = watch;
	return 0;
}

void neap_daemon_tls_free(struct neap_daemon_tls *watch)
{
	if (watch == NULL)
		return;
	if (watch->look != NULL)
		event_free(watch->look);
	free(watch);
}
