/* SPDX-License-Identifier: Apache-2.0 */
#include "api/remote/kubelet/kubelet.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/remote/kinds.h"
#include "api/store/mirror.h"
#include "api/store/reads.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/log/log.h"

#define PODS          "pods"
#define ANSWER_USEC   ((int64_t)30 * 1000000)
#define RETRY_USEC    1000000 /* doubled each time, up to the usual pause */
#define HISTORY_USEC  ((int64_t)300 * 1000000)
#define HISTORY_BYTES ((size_t)16 * 1024 * 1024)

struct neap_kubelet {
	struct neap_store_client of; /* first */
	struct neap_kubelet_config config;
	const struct neap_remote_kind *kind;
	struct event *due, *call;
	struct neap_transfer *asking;
	int64_t retry_usec; /* 0: the last answer was fine */
	bool is_filled, is_other_told;
};

struct neap_client *neap_kubelet_client(struct neap_kubelet *kubelet)
{
	return &kubelet->of.client;
}

static void ask_after(struct neap_kubelet *kubelet, int64_t usec)
{
	const struct timeval after = {.tv_sec = usec / 1000000,
				      .tv_usec = usec % 1000000};

	(void)event_add(kubelet->due, &after);
}

/* What was read before stays. */
static void fail(struct neap_kubelet *kubelet, const char *why)
{
	neap_log_from(kubelet->config.log, "kubelet", NEAP_LOG_WARN, "kubelet: %s%s", why,
		      kubelet->is_filled ? "; the pods that were read before stay" : "");
	kubelet->retry_usec =
		kubelet->retry_usec == 0 ? RETRY_USEC : kubelet->retry_usec * 2;
	if (kubelet->retry_usec > kubelet->config.every_usec)
		kubelet->retry_usec = kubelet->config.every_usec;
	ask_after(kubelet, kubelet->retry_usec);
}

/* --- the mirror --- */

static void call(evutil_socket_t fd, short what, void *arg)
{
	struct neap_kubelet *kubelet = arg;

	(void)fd;
	(void)what;
	if (neap_mirror_call(kubelet->of.store, neap_clock_steady()))
		event_active(kubelet->call, 0, 0);
}

/* --- pods --- */

static void tell_other(struct neap_kubelet *kubelet, const struct neap_object *pod)
{
	const char *node = neap_object_field(pod, "spec.nodeName");

	if (node == NULL || *node == '\0' ||
	    strcmp(node, kubelet->config.node_name) == 0 || kubelet->is_other_told)
		return;
	kubelet->is_other_told = true;
	neap_log_line(kubelet->config.log, NEAP_LOG_WARN,
		      "kubelet: its node is %s, and this one is %s: its pods are left "
		      "out; start neapd with --node-name %s",
		      node, kubelet->config.node_name, node);
}

/* pod is taken. */
static int show_take(struct neap_kubelet *kubelet, json_t *pod, const char *ns,
		     const char *name, struct neap_error *err)
{
	struct neap_store *mirror = kubelet->of.store;
	const struct neap_object *shown = neap_store_find(mirror, PODS, ns, name);
	const char *uid = neap_json_text(json_object_get(pod, "metadata"), "uid");
	struct neap_object *made;

	if (*ns == '\0' || *name == '\0' || *uid == '\0') {
		json_decref(pod);
		return neap_error_set(err, NEAP_EINVAL, "it has no name or no uid");
	}
	/* Another pod of that name: the first one is gone. */
	if (shown != NULL && strcmp(shown->uid, uid) != 0) {
		shown = NULL;
		if (neap_mirror_hide_take(mirror, PODS, ns, name, NULL,
					  neap_clock_steady(), err) < 0) {
			json_decref(pod);
			return -(int)err->code;
		}
	}
	if (neap_remote_object_take(pod, kubelet->kind, neap_mirror_next(mirror), &made,
				    err) < 0)
		return -(int)err->code;
	tell_other(kubelet, made);
	if (shown != NULL && shown->text_len == made->text_len &&
	    memcmp(shown->text, made->text, made->text_len) == 0) {
		neap_mirror_keep(mirror, PODS, ns, name);
		(void)neap_object_unref(made);
		return 0;
	}
	return neap_mirror_show_take(mirror, PODS, made, true, neap_clock_steady(), err);
}

/* A pod that neap cannot read is left out; one of its name that was shown stays. */
static int leave_out(struct neap_kubelet *kubelet, const char *ns, const char *name,
		     struct neap_error *err)
{
	if (err->code == NEAP_ENOMEM)
		return -NEAP_ENOMEM;
	neap_mirror_keep(kubelet->of.store, PODS, ns, name);
	neap_log_from(kubelet->config.log, "kubelet", NEAP_LOG_WARN,
		      "kubelet: pod %s/%s is left out: %s", ns, name, err->msg);
	return 0;
}

static int take_pods(struct neap_kubelet *kubelet, const json_t *list,
		     struct neap_error *err)
{
	struct neap_store *mirror = kubelet->of.store;
	json_t *pod;
	size_t i;

	if (!neap_json_is_text(list, "kind", "PodList"))
		return neap_error_set(err, NEAP_EINVAL,
				      "/pods gives no PodList: is it a kubelet?");
	neap_mirror_mark(mirror, PODS);
	json_array_foreach (json_object_get(list, "items"), i, pod) {
		const json_t *meta = json_object_get(pod, "metadata");
		char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME];

		(void)neap_strcopy(ns, sizeof(ns), neap_json_text(meta, "namespace"));
		(void)neap_strcopy(name, sizeof(name), neap_json_text(meta, "name"));
		if (show_take(kubelet, json_incref(pod), ns, name, err) < 0 &&
		    leave_out(kubelet, ns, name, err) < 0)
			return -NEAP_ENOMEM;
	}
	return neap_mirror_sweep(mirror, PODS, neap_clock_steady(), err);
}

/* --- asking --- */

/* A kubelet refuses with a line of text. */
static void refuse(struct neap_kubelet *kubelet,
		   const struct neap_transport_answer *answer)
{
	const char *todo =
		answer->status == 401   ? ": it does not know who asks: give a token "
					  "(--kubelet-token-file) or a certificate "
					  "(--kubelet-client-certificate)"
		: answer->status == 403 ? ": who asks needs the right to get nodes/proxy"
					: "";
	char why[512], text[768];

	if (answer->status == 401 || answer->status == 403)
		(void)snprintf(why, sizeof(why), "HTTP status %d (%.*s)", answer->status,
			       (int)strcspn(answer->body, "\r\n"), answer->body);
	else
		(void)neap_remote_why(answer, why, sizeof(why));
	(void)snprintf(text, sizeof(text), "%s%s", why, todo);
	neap_utf8_trim(text);
	fail(kubelet, text);
}

static void answered(void *arg, const struct neap_transport_answer *answer)
{
	struct neap_kubelet *kubelet = arg;
	struct neap_error err = {0};
	json_t *list = NULL;

	kubelet->asking = NULL;
	if (answer->status != 200) {
		refuse(kubelet, answer);
		return;
	}
	if (neap_remote_parse(answer->body, answer->len, &list, &err) < 0 ||
	    take_pods(kubelet, list, &err) < 0) {
		json_decref(list);
		fail(kubelet, err.msg);
		return;
	}
	json_decref(list);
	event_active(kubelet->call, 0, 0);
	if (kubelet->retry_usec != 0 || !kubelet->is_filled)
		neap_log_line(kubelet->config.log, NEAP_LOG_INFO,
			      "kubelet: its pods are read");
	kubelet->retry_usec = 0;
	ask_after(kubelet, kubelet->config.every_usec);
	if (kubelet->is_filled)
		return;
	kubelet->is_filled = true;
	kubelet->config.filled(kubelet->config.arg);
}

static void ask(evutil_socket_t fd, short what, void *arg)
{
	struct neap_kubelet *kubelet = arg;
	struct neap_transport_ask request = {.method = "GET",
					     .path = "/pods",
					     .timeout_usec = ANSWER_USEC,
					     .is_impatient = true,
					     .done = answered,
					     .arg = kubelet};
	struct neap_error err;

	(void)fd;
	(void)what;
	if (neap_transport_ask_take(kubelet->config.transport, &request, &kubelet->asking,
				    &err) < 0)
		fail(kubelet, err.msg);
}

/* --- writes --- */

static void refuse_write(const struct neap_client_ask *ask)
{
	const struct neap_client_failure failure = {
		.reason = NEAP_CLIENT_METHOD_NOT_ALLOWED,
		.code = 405,
		.message = "a kubelet takes no objects"};

	if (ask->told != NULL)
		ask->told(ask->arg, NULL, &failure);
}

static void create_take(struct neap_client *client, const struct neap_client_ask *ask,
			json_t *object)
{
	const struct neap_kubelet *kubelet = (const struct neap_kubelet *)client;
	const json_t *about = json_object_get(object, "involvedObject");

	if (strcmp(ask->resource, "events") == 0)
		neap_log_from(kubelet->config.log, "events", NEAP_LOG_WARN,
			      "pod %s/%s: %s: %s", neap_json_text(about, "namespace"),
			      neap_json_text(about, "name"),
			      neap_json_text(object, "reason"),
			      neap_json_text(object, "message"));
	json_decref(object);
	refuse_write(ask);
}

static void update_take(struct neap_client *client, const struct neap_client_ask *ask,
			bool is_status, json_t *object)
{
	(void)client, (void)is_status;
	json_decref(object);
	refuse_write(ask);
}

static void delete_pod(struct neap_client *client, const struct neap_client_ask *ask,
		       const char *uid, int64_t grace_s)
{
	(void)client, (void)uid, (void)grace_s;
	refuse_write(ask);
}

static void bind_pod(struct neap_client *client, const struct neap_client_ask *ask,
		     const struct neap_client_binding *binding)
{
	(void)client, (void)binding;
	refuse_write(ask);
}

static void hold(struct neap_client *client, int step)
{
	(void)client, (void)step;
}

/* --- life --- */

static const struct neap_client_ops ops = {
	NEAP_STORE_READS,           .create_take = create_take,
	.update_take = update_take, .patch_take = update_take,
	.delete = delete_pod,       .evict = delete_pod,
	.bind = bind_pod,           .hold = hold,
};

int neap_kubelet_new(const struct neap_kubelet_config *config, struct neap_kubelet **ret,
		     struct neap_error *err)
{
	struct neap_kubelet *kubelet = neap_alloc(sizeof(*kubelet));

	if (kubelet == NULL)
		return neap_error_nomem(err);
	kubelet->config = *config;
	kubelet->kind = neap_remote_kind_find(PODS);
	kubelet->of.client = (struct neap_client){.ops = &ops, .now = neap_clock_unix};
	kubelet->due = event_new(config->base, -1, 0, ask, kubelet);
	kubelet->call = event_new(config->base, -1, 0, call, kubelet);
	if (kubelet->due == NULL || kubelet->call == NULL ||
	    neap_mirror_new(HISTORY_USEC, HISTORY_BYTES, &kubelet->of.store, err) < 0) {
		neap_kubelet_free(kubelet);
		return neap_error_nomem(err);
	}
	ask_after(kubelet, 0);
	*ret = kubelet;
	return 0;
}

void neap_kubelet_free(struct neap_kubelet *kubelet)
{
	if (kubelet == NULL)
		return;
	neap_transfer_cancel(kubelet->asking);
	if (kubelet->due != NULL)
		event_free(kubelet->due);
	if (kubelet->call != NULL)
		event_free(kubelet->call);
	neap_client_done(&kubelet->of.client);
	neap_store_free(kubelet->of.store);
	free(kubelet);
}
