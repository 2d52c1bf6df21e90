/* SPDX-License-Identifier: Apache-2.0 */
#include "api/daemon/role_remote.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "api/remote/kubeconfig.h"
#include "api/remote/metrics.h"
#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "hw/dialer/dialer.h"

#define TOKEN_SEC    50 /* a token is read again, as client-go does */
#define KEYS_USEC    (300 * (int64_t)1000000)
#define RELEASE_USEC 1000000

/* What the scheduler reads, and the Reservation controller. The largest last. */
static const struct neap_remote_resource resources[] = {
	{.resource = "nodes"},
	{.resource = "namespaces"},
	{.resource = "poddisruptionbudgets.policy"},
	{.resource = "nodemetrics.slo.koordinator.sh"},
	{.resource = "noderesourcetopologies.topology.node.k8s.io"},
	{.resource = "persistentvolumes"},
	{.resource = "persistentvolumeclaims"},
	{.resource = "storageclasses.storage.k8s.io"},
	{.resource = "reservations.scheduling.koordinator.sh"},
	{.resource = "pods"},
};

static const struct neap_log *log_of(const struct neap_role_remote *role)
{
	return &role->process->log;
}

/* --- who connects --- */

static int fork_dialer(struct neap_role_remote *role, struct neap_error *err)
{
	const struct neap_remote_target *target = role->target;
	const char *const names[NEAP_REMOTE_FILES] = {
		[NEAP_REMOTE_CA] = target->ca_file,
		[NEAP_REMOTE_CERT] = target->cert_file,
		[NEAP_REMOTE_KEY] = target->key_file,
		[NEAP_REMOTE_TOKEN] = target->token_file};
	const char *files[NEAP_REMOTE_FILES];
	const struct neap_dialer_server server = {.host = target->dial_host,
						  .port = target->dial_port};
	struct neap_dialer_config config = {.servers = &server,
					    .server_count = 1,
					    .files = files,
					    .file_count = 0,
					    .uid = role->process->account.uid,
					    .gid = role->process->account.gid,
					    .jail = role->process->config.seccomp,
					    .log = log_of(role)};

	for (int i = 0; i < NEAP_REMOTE_FILES; i++) {
		role->numbers[i] = names[i] != NULL ? (int)config.file_count : -1;
		if (names[i] != NULL)
			files[config.file_count++] = names[i];
	}
	return neap_dialer_start(&config, &role->dialer, err);
}

int neap_role_remote_open(struct neap_role_remote *role,
			  const struct neap_process *process, struct neap_error *err)
{
	const char *file = process->config.kubeconfig;
	const struct neap_remote_source source = {
		.file = strcmp(file, "auto") == 0 ? NULL : file};

	role->process = process;
	if (*file == '\0')
		return 0;
	if (neap_remote_target_load(&source, &role->target, err) < 0)
		return neap_error_wrap(err, "--kubeconfig");
	if (neap_transport_setup(err) < 0)
		return -(int)err->code;
	return fork_dialer(role, err);
}

/* --- credentials --- */

static int use_keys(struct neap_role_remote *role, struct neap_error *err)
{
	const struct neap_remote_target *target = role->target;
	char *const *texts = role->texts;
	const struct neap_transport_keys keys = {
		.ca = target->ca_data ? target->ca_data : texts[NEAP_REMOTE_CA],
		.cert = target->cert_data ? target->cert_data : texts[NEAP_REMOTE_CERT],
		.key = target->key_data ? target->key_data : texts[NEAP_REMOTE_KEY],
		.token = target->token ? target->token : texts[NEAP_REMOTE_TOKEN],
		.user = target->username,
		.password = target->password};

	return neap_transport_set_keys(role->transport, &keys, err);
}

static void read_file(struct neap_role_remote *role, int file)
{
	struct neap_error err;

	if (role->numbers[file] < 0 || role->is_gone)
		return;
	if (neap_dialer_read(role->dialer, (unsigned)role->numbers[file], (uint64_t)file,
			     &err) < 0)
		neap_log_line(log_of(role), NEAP_LOG_WARN, "api server: %s", err.msg);
}

static void read_keys(struct neap_role_remote *role)
{
	role->read_usec = neap_clock_steady();
	for (int i = 0; i < NEAP_REMOTE_TOKEN; i++)
		read_file(role, i);
}

/* The last ones stay until the files can be read again. */
static void refresh(evutil_socket_t fd, short what, void *arg)
{
	struct neap_role_remote *role = arg;

	(void)fd;
	(void)what;
	read_file(role, NEAP_REMOTE_TOKEN);
	if (neap_clock_steady() - role->read_usec >= KEYS_USEC)
		read_keys(role);
}

/* Without a proof of the server, or of this neapd, nothing is asked. */
static int begin_reading(struct neap_role_remote *role, struct neap_error *err);

static void file_is_read(void *arg, uint64_t id, const char *text, size_t len,
			 const char *why)
{
	struct neap_role_remote *role = arg;
	bool is_first = !role->is_reading;
	struct neap_error err = {0};
	char *trimmed;

	if (text != NULL && id == NEAP_REMOTE_TOKEN)
		while (len > 0 && strchr(" \t\r\n", text[len - 1]))
			len--;
	if (text == NULL || len == 0) {
		neap_log_from(log_of(role), "api server", NEAP_LOG_WARN,
			      "api server: %s%s",
			      text == NULL ? why : "the token file is empty",
			      role->texts[id] ? "; what was read before stays" : "");
	} else if (role->texts[id] == NULL || strncmp(role->texts[id], text, len) != 0 ||
		   role->texts[id][len] != '\0') {
		trimmed = neap_strndup(text, len);
		if (trimmed != NULL) {
			free(role->texts[id]);
			role->texts[id] = trimmed;
		}
		if (!is_first && use_keys(role, &err) < 0)
			neap_log_line(log_of(role), NEAP_LOG_ERROR, "api server: %s",
				      err.msg);
	}
	if (is_first && role->texts[id] != NULL)
		role->waiting &= ~(1u << id);
	if (is_first && role->waiting == 0 && begin_reading(role, &err) < 0)
		neap_log_line(log_of(role), NEAP_LOG_ERROR, "api server: %s", err.msg);
}

static void connected(void *arg, uint64_t id, int fd, const char *why)
{
	struct neap_role_remote *role = arg;

	(void)id;
	neap_transport_connected(role->transport, fd, why);
}

/* Root is gone, and nobody else can be started: the supervisor's turn. */
static void dialer_ended(void *arg)
{
	struct neap_role_remote *role = arg;

	role->is_gone = true;
	(void)event_del(role->heard);
	role->events->lost(role->arg);
}

static void hear(evutil_socket_t fd, short what, void *arg)
{
	static const struct neap_dialer_heard heard = {
		.connected = connected, .read = file_is_read, .ended = dialer_ended};
	struct neap_role_remote *role = arg;

	(void)fd;
	(void)what;
	neap_dialer_hear(role->dialer, &heard, role);
}

/* --- the transport's questions --- */

static void dial(void *arg)
{
	struct neap_role_remote *role = arg;
	struct neap_error err;

	if (neap_dialer_connect(role->dialer, 0, 0, &err) < 0)
		neap_transport_connected(role->transport, -1, err.msg);
}

static void refused(void *arg)
{
	read_file(arg, NEAP_REMOTE_TOKEN);
}

/* --- who works --- */

static bool has(const struct neap_role_remote *role, enum neap_role which)
{
	return (role->process->config.roles & which) != 0;
}

static void look(struct neap_role_remote *role)
{
	bool may = role->is_filled && role->is_leading;

	if (may == role->has_begun || role->is_ending)
		return;
	role->has_begun = may;
	if (may)
		role->events->begin(role->arg);
	else
		role->events->end(role->arg);
}

static void filled(void *arg)
{
	struct neap_role_remote *role = arg;

	neap_log_line(log_of(role), NEAP_LOG_INFO, "api server: its objects are read");
	role->is_filled = true;
	look(role);
}

static void node_filled(void *arg)
{
	struct neap_role_remote *role = arg;

	neap_log_line(log_of(role), NEAP_LOG_INFO,
		      "api server: the objects of node %s are read",
		      role->process->config.node_name);
	role->is_node_filled = true;
	if (!role->is_ending)
		role->events->node_filled(role->arg);
}

static void leads(void *arg)
{
	struct neap_role_remote *role = arg;

	role->is_leading = true;
	role->reign++;
	look(role);
}

static void leads_no_more(void *arg, const char *why)
{
	struct neap_role_remote *role = arg;

	(void)why;
	role->is_leading = false;
	look(role);
}

static uint64_t reign(void *arg)
{
	const struct neap_role_remote *role = arg;

	return role->lease == NULL || neap_lease_is_held(role->lease) ? role->reign : 0;
}

bool neap_role_remote_is_filled(const struct neap_role_remote *role)
{
	return (role->is_filled || !has(role, NEAP_ROLE_SCHEDULER)) &&
	       (role->is_node_filled || !has(role, NEAP_ROLE_NODE));
}

bool neap_role_remote_is_working(const struct neap_role_remote *role,
				 const char **ret_why)
{
	*ret_why = !role->is_filled ? "neapd is still reading the cluster"
				    : "another neapd leads";
	return role->has_begun;
}

/* --- start --- */

/* HOST_UUID: never the host's name alone, as two may run there. */
static int make_identity(const struct neap_config *config, char *buf, size_t size,
			 struct neap_error *err)
{
	unsigned char bytes[16];
	size_t len;

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return neap_error_sys(err, "draw an identity");
	bytes[6] = (unsigned char)((bytes[6] & 0x0f) | 0x40);
	bytes[8] = (unsigned char)((bytes[8] & 0x3f) | 0x80);
	len = (size_t)snprintf(buf, size, "%s_", config->node_name);
	for (size_t i = 0; i < sizeof(bytes) && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s%02x",
					i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
					bytes[i]);
	return 0;
}

static int elect(struct neap_role_remote *role, struct neap_error *err)
{
	const struct neap_config *config = &role->process->config;
	char identity[512];
	const struct neap_lease_config lease = {.base = role->process->base,
						.transport = role->transport,
						.ns = config->lease_ns,
						.name = config->lease_name,
						.identity = identity,
						.manager = "neap-scheduler",
						.duration_usec = config->lease_usec,
						.renew_usec = config->lease_renew_usec,
						.retry_usec = config->lease_retry_usec,
						.began = leads,
						.ended = leads_no_more,
						.arg = role,
						.log = log_of(role)};

	if (!config->leader_elect) {
		leads(role);
		return 0;
	}
	if (make_identity(config, identity, sizeof(identity), err) < 0)
		return -(int)err->code;
	return neap_lease_new(&lease, &role->lease, err);
}

/* A scheduler that stood still, or was cut off, writes nothing more. */
static int read_cluster(struct neap_role_remote *role, struct neap_error *err)
{
	const struct neap_remote_config remote = {.base = role->process->base,
						  .transport = role->transport,
						  .resources = resources,
						  .resource_count =
							  NEAP_ARRAY_LEN(resources),
						  .manager = "neap-scheduler",
						  .filled = filled,
						  .reign = reign,
						  .arg = role,
						  .log = log_of(role)};

	return neap_remote_new(&remote, &role->scheduler, err) == 0 ? elect(role, err)
								    : -(int)err->code;
}

/* Nothing but what is about this node. */
static int read_node(struct neap_role_remote *role, struct neap_error *err)
{
	const char *name = role->process->config.node_name;
	const struct neap_remote_resource of_node[] = {
		{.resource = "nodes", .selector = role->by_name},
		{.resource = "nodemetrics.slo.koordinator.sh", .selector = role->by_name},
		{.resource = "noderesourcetopologies.topology.node.k8s.io",
		 .selector = role->by_name},
		{.resource = "pods", .selector = role->by_node},
	};
	const struct neap_remote_config remote = {.base = role->process->base,
						  .transport = role->transport,
						  .resources = of_node,
						  .resource_count =
							  NEAP_ARRAY_LEN(of_node),
						  .manager = "neap-node",
						  .filled = node_filled,
						  .arg = role,
						  .log = log_of(role)};

	(void)snprintf(role->by_name, sizeof(role->by_name), "metadata.name=%s", name);
	(void)snprintf(role->by_node, sizeof(role->by_node), "spec.nodeName=%s", name);
	return neap_remote_new(&remote, &role->node, err);
}

static int begin_reading(struct neap_role_remote *role, struct neap_error *err)
{
	role->is_reading = true;
	if (use_keys(role, err) < 0 ||
	    (has(role, NEAP_ROLE_SCHEDULER) && read_cluster(role, err) < 0) ||
	    (has(role, NEAP_ROLE_NODE) && read_node(role, err) < 0))
		return -(int)err->code;
	return 0;
}

/* "Impersonate-User: name" and the like; NULL-terminated. NULL without memory. */
static char **make_headers(const struct neap_remote_target *target)
{
	size_t size = 3, count = 0;
	char **headers;
	const json_t *values;
	const char *key;
	size_t i;

	for (char **group = target->as_groups; group != NULL && *group != NULL; group++)
		size++;
	json_object_foreach (target->as_extra, key, values)
		size += json_array_size(values);
	headers = neap_alloc_array(size, sizeof(*headers));
	if (headers == NULL)
		return NULL;
	if (target->as != NULL)
		headers[count++] = neap_asprintf("Impersonate-User: %s", target->as);
	if (target->as_uid != NULL)
		headers[count++] = neap_asprintf("Impersonate-Uid: %s", target->as_uid);
	for (char **group = target->as_groups; group != NULL && *group != NULL; group++)
		headers[count++] = neap_asprintf("Impersonate-Group: %s", *group);
	json_object_foreach (target->as_extra, key, values)
		for (i = 0; i < json_array_size(values); i++)
			headers[count++] = neap_asprintf(
				"Impersonate-Extra-%s: %s", key,
				json_string_value(json_array_get(values, i)));
	return headers;
}

static void free_headers(char **headers)
{
	for (char **header = headers; header != NULL && *header != NULL; header++)
		free(*header);
	free(headers);
}

static int make_transport(struct neap_role_remote *role, struct neap_error *err)
{
	const struct neap_config *config = &role->process->config;
	const struct neap_remote_target *target = role->target;
	char **headers = make_headers(target);
	const struct neap_transport_config transport = {
		.base = role->process->base,
		.url = target->server,
		.proxy = target->proxy_url,
		.tls_name = target->tls_server_name,
		.is_insecure = target->is_insecure,
		.has_no_compression = target->has_no_compression,
		.headers = (const char *const *)headers,
		.dial = dial,
		.refused = refused,
		.arg = role,
		.rate = (double)config->api_qps,
		.burst = (double)config->api_burst,
		.log = log_of(role)};
	int rc = headers != NULL ? neap_transport_new(&transport, &role->transport, err)
				 : neap_error_nomem(err);

	free_headers(headers);
	return rc;
}

int neap_role_remote_start(struct neap_role_remote *role,
			   const struct neap_role_remote_events *events, void *arg,
			   struct neap_error *err)
{
	static const struct timeval every = {.tv_sec = TOKEN_SEC};

	if (role->target == NULL)
		return 0;
	role->events = events;
	role->arg = arg;
	neap_log_line(log_of(role), NEAP_LOG_INFO, "api server: %s (%s)",
		      role->target->server, role->target->source);
	if (make_transport(role, err) < 0)
		return -(int)err->code;
	role->heard = event_new(role->process->base, neap_dialer_fd(role->dialer),
				EV_READ | EV_PERSIST, hear, role);
	role->refresh = event_new(role->process->base, -1, EV_PERSIST, refresh, role);
	if (role->heard == NULL || role->refresh == NULL ||
	    event_add(role->heard, NULL) < 0 || event_add(role->refresh, &every) < 0)
		return neap_error_nomem(err);
	for (int i = 0; i < NEAP_REMOTE_FILES; i++)
		if (role->numbers[i] >= 0)
			role->waiting |= 1u << i;
	if (role->waiting == 0)
		return begin_reading(role, err);
	read_keys(role);
	read_file(role, NEAP_REMOTE_TOKEN);
	return 0;
}

void neap_role_remote_add_metrics(void *arg, struct neap_buf *out)
{
	const struct neap_role_remote *role = arg;
	const struct neap_remote_figures figures = {
		.transport = role->transport,
		.remotes = {role->scheduler, role->node},
		.lease = role->lease,
		.lease_name = role->process->config.lease_name};

	if (role->transport != NULL)
		neap_remote_add_metrics(&figures, out);
}

/* --- the end --- */

static void released(void *arg)
{
	*(bool *)arg = true;
}

/* So that another one need not wait for the Lease to run out. */
static void release(struct neap_role_remote *role)
{
	static const struct timeval limit = {.tv_sec = RELEASE_USEC / 1000000};
	int64_t end = neap_clock_steady() + RELEASE_USEC;
	static bool is_done;

	role->is_ending = true; /* whatever else the loop brings now */
	neap_lease_release(role->lease, released, &is_done);
	(void)event_base_loopexit(role->process->base,
				  &limit); /* one turn ends by then */
	while (!is_done && neap_clock_steady() < end)
		(void)event_base_loop(role->process->base, EVLOOP_ONCE);
}

void neap_role_remote_free(struct neap_role_remote *role)
{
	if (role->lease != NULL)
		release(role);
	neap_lease_free(role->lease);
	neap_remote_free(role->scheduler);
	neap_remote_free(role->node);
	neap_transport_free(role->transport);
	if (role->heard != NULL)
		event_free(role->heard);
	if (role->refresh != NULL)
		event_free(role->refresh);
	neap_dialer_free(role->dialer);
	for (int i = 0; i < NEAP_REMOTE_FILES; i++)
		free(role->texts[i]);
	neap_remote_target_free(role->target);
	*role = (struct neap_role_remote){0};
}
