/* SPDX-License-Identifier: Apache-2.0 */
#include "api/daemon/role_prometheus.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/daemon/role_remote.h"
#include "api/deschedule/play/samples.h"
#include "api/kube/base/meta.h"
#include "api/remote/link/named_target.h"
#include "api/remote/prometheus/prometheus.h"
#include "api/remote/prometheus/secret_token.h"
#include "engine/base/mem.h"

#define ANSWER_USEC INT64_C(10000000)
/* For what comes before a query: credentials, the Secret. */
#define READY_SEC 10

/* A query of the descheduler that has no answer yet. */
struct neap_prometheus_request {
	struct neap_role_prometheus *role;
	struct neap_prometheus_request *next;
	char *query;
	char secret_ns[64], secret_name[254]; /* "": none */
	neap_deschedule_answered *told;
	void *arg;
	struct neap_transfer *secret;        /* is being read */
	struct neap_prometheus_query *asked; /* is being asked */
	struct event *deadline;              /* of what comes before it is asked */
};

/* --- the end of a request --- */

static void request_free(struct neap_prometheus_request *request)
{
	struct neap_prometheus_request **at = &request->role->requests;

	while (*at != request)
		at = &(*at)->next;
	*at = request->next;
	neap_transfer_cancel(request->secret);
	neap_prometheus_cancel(request->asked);
	if (request->deadline)
		event_free(request->deadline);
	free(request->query);
	free(request);
}

/* Takes text over. */
static void end(struct neap_prometheus_request *request, char *text, size_t len,
		const char *why)
{
	const struct neap_link *link = request->role->link;
	neap_deschedule_answered *told = request->told;
	void *arg = request->arg;
	char with_url[512];

	request_free(request);
	(void)snprintf(with_url, sizeof(with_url), "%s: %s",
		       link ? neap_link_target(link)->server : "", why ? why : "");
	told(arg, text, len, text ? NULL : with_url);
}

static void fail(struct neap_prometheus_request *request, const char *why)
{
	end(request, NULL, 0, why);
}

static void answered(void *arg, char *body, size_t len, const char *why)
{
	struct neap_prometheus_request *request = arg;

	request->asked = NULL;
	end(request, body, len, why);
}

/* --- the query --- */

static void ask(struct neap_prometheus_request *request)
{
	const struct neap_role_prometheus *role = request->role;
	const struct neap_prometheus_config config = {
		.base = role->process->base,
		.transport = neap_link_transport(role->link),
		.timeout_usec = ANSWER_USEC,
		.bytes_max = NEAP_SAMPLES_BYTES_MAX,
		.told = answered,
		.arg = request};
	struct neap_error err;

	(void)event_del(request->deadline);
	if (neap_prometheus_ask(&config, request->query, &request->asked, &err) < 0)
		fail(request, err.msg);
}

/* --- the token in a Secret --- */

static void fail_secret(struct neap_prometheus_request *request, const char *why)
{
	char text[768];

	(void)snprintf(text, sizeof(text), "Secret %s/%s: %s (or use --prometheus-token)",
		       request->secret_ns, request->secret_name, why);
	fail(request, text);
}

static void secret_read(void *arg, const struct neap_transport_answer *answer)
{
	struct neap_prometheus_request *request = arg;
	struct neap_error err;
	char *token = NULL;

	request->secret = NULL;
	if (neap_secret_token_read(answer, &token, &err) < 0 ||
	    neap_link_set_token(request->role->link, token, &err) < 0)
		fail_secret(request, err.msg);
	else
		ask(request);
	free(token);
}

static void read_secret(struct neap_prometheus_request *request)
{
	const struct neap_role_prometheus *role = request->role;
	struct neap_transport *cluster =
		role->remote->link ? neap_link_transport(role->remote->link) : NULL;
	char path[400];
	struct neap_transport_ask get = {.method = "GET",
					 .path = path,
					 .timeout_usec = ANSWER_USEC,
					 .is_impatient = true,
					 .done = secret_read,
					 .arg = request};
	struct neap_error err;

	if (strncmp(neap_link_target(role->link)->server, "https:", 6) != 0) {
		fail_secret(request,
			    "the URL is plain HTTP, and a token goes over https:// "
			    "alone");
		return;
	}
	if (!cluster) {
		fail_secret(request, "this neapd keeps no Secrets");
		return;
	}
	if (neap_kube_dns_label_fault(request->secret_ns) ||
	    neap_kube_dns_subdomain_fault(request->secret_name)) {
		fail_secret(request, "that cannot be a name");
		return;
	}
	(void)snprintf(path, sizeof(path), "/api/v1/namespaces/%s/secrets/%s",
		       request->secret_ns, request->secret_name);
	if (neap_transport_ask_take(cluster, &get, &request->secret, &err) < 0)
		fail_secret(request, err.msg);
}

/* --- a request, from its beginning --- */

/* Its credentials are known. A token of another configuration is not sent. */
static void go_on(struct neap_prometheus_request *request)
{
	const bool has_file = *request->role->process->config.prometheus_token != '\0';
	struct neap_error err;

	if (*request->secret_name && !has_file)
		read_secret(request);
	else if (!has_file && neap_link_set_token(request->role->link, NULL, &err) < 0)
		fail(request, err.msg);
	else
		ask(request);
}

static void too_late(evutil_socket_t fd, short what, void *arg)
{
	struct neap_prometheus_request *request = arg;

	(void)fd;
	(void)what;
	if (request->secret)
		fail_secret(request, "there is no answer in time");
	else
		fail(request, "its credentials cannot be read (--prometheus-ca, "
			      "--prometheus-token)");
}

/* Returns why that server is not asked; NULL: it is. */
static const char *refuse(const struct neap_role_prometheus *role, const char *url,
			  char *buf, size_t size)
{
	const char *server = role->link ? neap_link_target(role->link)->server : "";
	size_t len = url ? strlen(url) : 0;
	const char *shown;

	while (len > 0 && url[len - 1] == '/')
		len--;
	/* It may have a password. */
	shown = url && !strchr(url, '@') ? url : "URL";
	if (!role->link && !url)
		return "no server is named: start neapd with --prometheus URL";
	if (!role->link)
		(void)snprintf(buf, size,
			       "%s was not known when neapd started: start it with "
			       "--prometheus %s",
			       shown == url ? url : "the one of the configuration",
			       shown);
	else if (url && !*role->process->config.prometheus &&
		 (len != strlen(server) || strncmp(url, server, len) != 0))
		(void)snprintf(buf, size,
			       "it is the one of the start, and the configuration now "
			       "names %s: start neapd with --prometheus %s",
			       shown == url ? url : "another one", shown);
	else if (role->is_lost)
		return "the process that connects to it has ended: start neapd again";
	else
		return NULL;
	return buf;
}

void neap_role_prometheus_query(void *arg, const struct neap_deschedule_prometheus *from,
				const char *query, neap_deschedule_answered *told,
				void *told_arg)
{
	static const struct timeval limit = {.tv_sec = READY_SEC};
	struct neap_role_prometheus *role = arg;
	struct neap_prometheus_request *request = neap_alloc(sizeof(*request));
	char buf[512];
	const char *why;

	if (!request) {
		told(told_arg, NULL, 0, "there is no memory");
		return;
	}
	*request = (struct neap_prometheus_request){
		.role = role, .next = role->requests, .told = told, .arg = told_arg};
	role->requests = request;
	if (from->secret_name && from->secret_ns) {
		(void)neap_strcopy(request->secret_ns, sizeof(request->secret_ns),
				   from->secret_ns);
		(void)neap_strcopy(request->secret_name, sizeof(request->secret_name),
				   from->secret_name);
	}
	why = refuse(role, from->url, buf, sizeof(buf));
	request->query = neap_strdup(query);
	request->deadline = event_new(role->process->base, -1, 0, too_late, request);
	if (!why && (!request->query || !request->deadline ||
		     event_add(request->deadline, &limit) < 0))
		why = "there is no memory";
	if (why)
		fail(request, why);
	else if (role->is_ready)
		go_on(request);
}

/* --- the link --- */

int neap_role_prometheus_open(struct neap_role_prometheus *role,
			      const struct neap_process *process, const char *url,
			      struct neap_error *err)
{
	const struct neap_config *config = &process->config;
	const bool is_option = *config->prometheus != '\0';
	const struct neap_named_server named = {
		.options = {.url = "--prometheus",
			    .ca = "--prometheus-ca",
			    .token = "--prometheus-token"},
		.url = is_option ? config->prometheus : url,
		.source = is_option ? NULL : "--descheduler-config: metricsProviders",
		.ca_file = config->prometheus_ca,
		.cert_file = "",
		.key_file = "",
		.token_file = config->prometheus_token};
	const struct neap_link_config link = {.name = "prometheus",
					      .uid = process->account.uid,
					      .gid = process->account.gid,
					      .jail = config->seccomp,
					      .log = &process->log};
	struct neap_remote_target *target = NULL;

	role->process = process;
	if ((config->roles & NEAP_ROLE_DESCHEDULER) == 0)
		return 0;
	if (!named.url) {
		if (*config->prometheus_ca || *config->prometheus_token)
			neap_log_line(&process->log, NEAP_LOG_WARN,
				      "--%s does nothing here: it goes with --prometheus",
				      *config->prometheus_ca ? "prometheus-ca"
							     : "prometheus-token");
		return 0;
	}
	if (neap_named_target_new(&named, &target, err) < 0)
		return -(int)err->code;
	/* A small body may be a large answer, which costs the loop time. */
	target->has_no_compression = true;
	return neap_link_open(&link, target, &role->link, err);
}

static int ready(void *arg, struct neap_error *err)
{
	struct neap_role_prometheus *role = arg;
	struct neap_prometheus_request *request, *next;

	(void)err;
	role->is_ready = true;
	/* Only these wait: a later query finds the role ready. */
	for (request = role->requests; request; request = next) {
		next = request->next;
		go_on(request);
	}
	return 0;
}

static void lost(void *arg)
{
	struct neap_role_prometheus *role = arg;

	role->is_lost = true;
	neap_log_line(&role->process->log, NEAP_LOG_ERROR,
		      "prometheus: the process that connects to it has ended: strategies "
		      "that ask it fail until neapd is started again");
}

int neap_role_prometheus_start(struct neap_role_prometheus *role,
			       const struct neap_role_remote *remote,
			       struct neap_error *err)
{
	static const struct neap_link_events events = {.ready = ready, .lost = lost};

	role->remote = remote;
	return role->link ? neap_link_start(role->link, role->process->base, &events,
					    role, err)
			  : 0;
}

void neap_role_prometheus_free(struct neap_role_prometheus *role)
{
	while (role->requests)
		fail(role->requests, "neapd is ending");
	neap_link_free(role->link);
	*role = (struct neap_role_prometheus){0};
}
