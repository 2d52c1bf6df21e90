/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects over HTTP while memory fails: reading, writing, watching. An answer is the
 * right one, or it says that the server cannot, or the client can see that it is not
 * whole; the next request is served. */
#include <arpa/inet.h>
#include <event2/event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "api/store/write.h"
#include "t/lib/kube_rig.h"
#include "t/torture/torture.h"

#define ANSWER_MAX (1024 * 1024)
#define TURNS_MAX  2000
#define PODS       "/api/v1/namespaces/default/pods"
#define VIEW       "/apis/events.k8s.io/v1/namespaces/default/events"
#define METRICS    "/apis/metrics.k8s.io/v1beta1"
#define MAPS       "/api/v1/namespaces/default/configmaps"
#define DEPLOY     "/apis/apps/v1/namespaces/default/deployments"
#define SPEC       "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}"

static char answer[ANSWER_MAX];
static size_t answer_len;

/* --- a client that allocates nothing --- */

static bool is_whole(const char *until)
{
	const char *body = strstr(answer, "\r\n\r\n"), *length;

	if (until != NULL && strncmp(answer, "HTTP/1.1 200", 12) == 0)
		return strstr(answer, until) != NULL;
	if (body == NULL)
		return false;
	length = strcasestr(answer, "\r\nContent-Length:");
	return length != NULL && length < body &&
	       (size_t)strtoul(length + 17, NULL, 10) ==
		       answer_len - (size_t)(body + 4 - answer);
}

/* until: what a stream has to say; NULL: a whole answer. */
static void ask(struct kube_rig *rig, const char *head, const char *type,
		const char *body, const char *until)
{
	static char request[8192];
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct sockaddr_in tcp = {.sin_family = AF_INET,
				  .sin_port = htons((uint16_t)rig->port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	/* Tokens count over TCP only. */
	bool is_tcp = strstr(type, "Authorization") != NULL;
	int fd = socket(is_tcp ? AF_INET : AF_UNIX,
			SOCK_STREAM | SOCK_CLOEXEC | (is_tcp ? 0 : SOCK_NONBLOCK), 0);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	ssize_t n = -1;
	int len = snprintf(request, sizeof(request),
			   "%s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %zu\r\n\r\n%s",
			   head, type, strlen(body), body);

	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", rig->path);
	answer_len = 0;
	answer[0] = '\0';
	if ((is_tcp ? connect(fd, (struct sockaddr *)&tcp, sizeof(tcp))
		    : connect(fd, (struct sockaddr *)&addr, sizeof(addr))) < 0 ||
	    write(fd, request, (size_t)len) != len)
		torture_fail("cannot send");
	for (int i = 0; n != 0 && !is_whole(until); i++) {
		if (i >= TURNS_MAX)
			torture_fail("no end of the answer: %.300s", answer);
		(void)event_base_loop(rig->base, EVLOOP_NONBLOCK);
		if (poll(&p, 1, i < 20 ? 0 : 1) <= 0)
			continue;
		n = read(fd, answer + answer_len, sizeof(answer) - 1 - answer_len);
		if (n < 0)
			break;
		answer_len += (size_t)n;
		answer[answer_len] = '\0';
	}
	(void)close(fd);
	for (int i = 0; i < 5; i++)
		(void)event_base_loop(rig->base, EVLOOP_NONBLOCK);
}

/* --- life --- */

static void must(struct kube_rig *rig, const char *what, const char *body)
{
	int status = kube_ask(rig, what, body);

	if (status != 200 && status != 201)
		torture_fail("%s: %d", what, status);
}

/* Its kind is declared, and not here; it is in the store all the same. */
static void report(struct kube_rig *rig)
{
	struct neap_store_write write = {
		.verb = NEAP_STORE_CREATE,
		.resource = "nodemetrics.slo.koordinator.sh",
		.ns = "",
		.name = "n",
		.object = json_pack(
			"{s:{s:s}, s:{s:s, s:{s:{s:{s:s}}}, s:[{s:s, s:s, s:{s:{s:s, "
			"s:i}}}]}}",
			"metadata", "name", "n", "status", "updateTime",
			"2026-11-20T23:19:38Z", "nodeMetric", "nodeUsage", "resources",
			"cpu", "1", "podsMetric", "namespace", "default", "name", "p",
			"podUsage", "resources", "cpu", "1", "memory", 7),
	};
	struct neap_error err = {0};

	if (neap_store_write_take(rig->store.store, &write, &err) < 0)
		torture_fail("%s", err.msg);
	while (!neap_store_find(rig->store.store, "nodemetrics.slo.koordinator.sh", "",
				"n"))
		kube_run(rig, 1);
}

static void *setup(void)
{
	struct kube_rig *rig = kube_rig_start("127.0.0.1:0", NULL);

	must(rig, "POST /api/v1/namespaces", "{'metadata':{'name':'default'}}");
	must(rig, "POST " PODS,
	     "{'metadata':{'name':'p','labels':{'a':'b'}},'spec':{'nodeName':'n',"
	     "'containers':[{'name':'c','image':'i'}]}}");
	must(rig, "POST " PODS,
	     "{'metadata':{'name':'q'},'spec':{'containers':[{'name':'c','image':'i'}]}}");
	must(rig, "POST " PODS,
	     "{'metadata':{'name':'own'},'spec':{'nodeName':'n1','containers':[{'name':'c',"
	     "'image':'i'}]}}");
	must(rig, "POST " DEPLOY,
	     "{'metadata':{'name':'d'},'spec':{'replicas':2,'selector':{'matchLabels':{"
	     "'a':'b'}},'template':{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{"
	     "'name':'c','image':'i'}]}}}}");
	must(rig, "APPLY " MAPS "/m?fieldManager=one",
	     "{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':'m'},'data':{"
	     "'x':'1','y':'2'}}");
	must(rig, "POST /api/v1/namespaces/default/events",
	     "{'metadata':{'name':'e'},'involvedObject':{'namespace':'default','name':'p'},"
	     "'message':'m','count':2}");
	must(rig, "POST /apis/scheduling.k8s.io/v1/priorityclasses",
	     "{'metadata':{'name':'c'},'value':5,'globalDefault':true}");
	must(rig, "POST /api/v1/nodes", "{'metadata':{'name':'n','labels':{'a':'b'}}}");
	report(rig);
	return rig;
}

static void teardown(void *state)
{
	(void)kube_rig_teardown(&state);
}

static void check(void *arg, int rc)
{
	(void)rc;
	ask(arg, "GET " PODS "/q", "", "", NULL);
	if (!is_whole(NULL) || strncmp(answer, "HTTP/1.1 200", 12) != 0)
		torture_fail("the next request: %.200s", answer);
}

struct form {
	const char *head, *type, *body, *until;
};

/* Who owns which fields: all of them, or the write fails. */
static void tell_owned(void)
{
	const char *owned = strstr(answer, "\"managedFields\":");
	const char *end = owned ? strstr(owned, "\"resourceVersion\":") : NULL;

	if (end)
		torture_tell(" %.*s", (int)(end - owned), owned);
}

static int act(void *arg, const struct form *form, struct neap_error *err)
{
	int status;

	ask(arg, form->head, form->type, form->body, form->until);
	if (!is_whole(form->until))
		return neap_error_nomem(err);
	status = (int)strtol(answer + 9, NULL, 10);
	if (status >= 500 || status == 429 ||
	    (status == 400 && strstr(answer, "<HTML>") != NULL))
		return neap_error_nomem(err);
	torture_tell("%d", status);
	tell_owned();
	return 0;
}

#define FORM(name, head_, type_, body_, until_)                                          \
	static int name(void *arg, struct neap_error *err)                               \
	{                                                                                \
		static const struct form form = {head_, type_, body_, until_};           \
                                                                                         \
		return act(arg, &form, err);                                             \
	}

#define MERGE     "Content-Type: application/merge-patch+json\r\n"
#define STRATEGIC "Content-Type: application/strategic-merge-patch+json\r\n"
#define APPLY     "Content-Type: application/apply-patch+yaml\r\n"
#define TABLE     "Accept: application/json;as=Table;v=v1;g=meta.k8s.io\r\n"

FORM(groups, "GET /apis", "", "", NULL)
FORM(resources, "GET /api/v1", "", "", NULL)
FORM(get, "GET " PODS "/p", "", "", NULL)
FORM(list, "GET " PODS "?limit=1&labelSelector=a%3Db&fieldSelector=spec.nodeName%3Dn", "",
     "", NULL)
FORM(table, "GET " PODS "?limit=1", TABLE, "", NULL)
FORM(missing, "GET " PODS "/none", "", "", NULL)
FORM(create, "POST " PODS, "", "{\"metadata\":{\"name\":\"new\"}," SPEC "}", NULL)
FORM(dry, "POST " PODS "?dryRun=All", "", "{\"metadata\":{\"name\":\"new\"}," SPEC "}",
     NULL)
FORM(invalid, "POST " PODS, "", "{\"metadata\":{\"name\":\"A B\"}," SPEC "}", NULL)
FORM(merge, "PATCH " PODS "/p", MERGE, "{\"metadata\":{\"labels\":{\"a\":null}}}", NULL)
FORM(strategic, "PATCH " PODS "/p", STRATEGIC,
     "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"j\"}]}}", NULL)
FORM(apply_new, "PATCH " PODS "/new?fieldManager=two", APPLY,
     "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"new\"}," SPEC "}",
     NULL)
FORM(apply_over, "PATCH " PODS "/p?fieldManager=kubectl&force=true", APPLY,
     "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\"},\"spec\":{"
     "\"containers\":[{\"name\":\"c\",\"image\":\"j\"}]}}",
     NULL)
FORM(apply_less, "PATCH " MAPS "/m?fieldManager=one", APPLY,
     "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"m\"},"
     "\"data\":{\"x\":\"3\"}}",
     NULL)
FORM(apply_conflict, "PATCH " MAPS "/m?fieldManager=two", APPLY,
     "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"m\"},"
     "\"data\":{\"x\":\"3\",\"y\":\"3\"}}",
     NULL)
FORM(merge_owned, "PATCH " MAPS "/m?fieldManager=two", MERGE, "{\"data\":{\"x\":\"3\"}}",
     NULL)
FORM(delete_pod, "DELETE " PODS "/p", "", "{\"gracePeriodSeconds\":5}", NULL)
FORM(delete_all, "DELETE " PODS "?labelSelector=a%3Db", "", "", NULL)
FORM(bind_pod, "POST " PODS "/q/binding", "",
     "{\"target\":{\"kind\":\"Node\",\"name\":\"n\"}}", NULL)
FORM(evict, "POST " PODS "/p/eviction", "", "{\"metadata\":{\"name\":\"p\"}}", NULL)
FORM(scale, "PATCH " DEPLOY "/d/scale", MERGE, "{\"spec\":{\"replicas\":3}}", NULL)
FORM(watch,
     "GET " PODS "?watch=1&labelSelector=a%3Db&allowWatchBookmarks=true"
     "&sendInitialEvents=true",
     "", "", "BOOKMARK")
FORM(watch_table, "GET " PODS "?watch=1", TABLE, "", "\"q\"")
FORM(event, "POST " VIEW, "",
     "{\"metadata\":{\"name\":\"f\"},\"regarding\":{\"namespace\":\"default\"},\"note\":\"n\","
     "\"eventTime\":\"2026-11-20T23:19:38.702768Z\",\"reportingController\":\"a\","
     "\"reportingInstance\":\"b\",\"action\":\"c\",\"reason\":\"d\",\"type\":\"Normal\"}",
     NULL)
FORM(events, "GET " VIEW "?fieldSelector=regarding.name%3Dp", "", "", NULL)
FORM(event_table, "GET " VIEW "/e?includeObject=Object", TABLE, "", NULL)
FORM(event_patch, "PATCH " VIEW "/e", STRATEGIC,
     "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}", NULL)
FORM(class_default, "POST /apis/scheduling.k8s.io/v1/priorityclasses", "",
     "{\"metadata\":{\"name\":\"d\"},\"value\":6,\"globalDefault\":true}", NULL)
FORM(node_metrics, "GET " METRICS "/nodes", "", "", NULL)
FORM(pod_metrics, "GET " METRICS "/namespaces/default/pods/p", "", "", NULL)
FORM(pods_metrics, "GET " METRICS "/pods", TABLE, "", NULL)

#define REVIEW "POST /apis/authorization.k8s.io/v1/selfsubject"
#define NODE   "Authorization: Bearer node-token-of-16\r\n"
#define ROSE   "Authorization: Bearer rose-token-of-16\r\n"

FORM(may, REVIEW "accessreviews", NODE,
     "{\"spec\":{\"resourceAttributes\":{\"verb\":\"delete\",\"resource\":\"pods\","
     "\"namespace\":\"default\",\"name\":\"own\"}}}",
     NULL)
FORM(rules, REVIEW "rulesreviews", NODE, "{\"spec\":{\"namespace\":\"default\"}}", NULL)
FORM(who, "POST /apis/authentication.k8s.io/v1/selfsubjectreviews", ROSE, "{}", NULL)
FORM(forbidden, "DELETE " PODS "/p", ROSE, "", NULL)
FORM(of_node, "PATCH " PODS "/own/status", NODE MERGE,
     "{\"status\":{\"phase\":\"Running\"}}", NULL)
FORM(of_other_node, "DELETE " PODS "/p", NODE, "", NULL)
FORM(unknown, "GET " PODS, "Authorization: Bearer wrong-token-of-16\r\n", "", NULL)
FORM(lost, "GET /apis/nothing", "", "", NULL)
FORM(no_such_path, "GET /openapi/v9", "", "", NULL)

#define ROW(name, act_)                                                                  \
	{                                                                                \
		"serve: " name, setup, act_, check, teardown                             \
	}

const struct torture torture_serve[] = {
	ROW("groups", groups),
	ROW("resources", resources),
	ROW("get", get),
	ROW("list", list),
	ROW("table", table),
	ROW("missing", missing),
	ROW("create", create),
	ROW("dry run", dry),
	ROW("invalid", invalid),
	ROW("merge patch", merge),
	ROW("strategic patch", strategic),
	ROW("apply new", apply_new),
	ROW("apply over", apply_over),
	ROW("apply less", apply_less),
	ROW("apply conflict", apply_conflict),
	ROW("merge owned", merge_owned),
	ROW("delete", delete_pod),
	ROW("delete collection", delete_all),
	ROW("bind", bind_pod),
	ROW("evict", evict),
	ROW("scale", scale),
	ROW("event", event),
	ROW("events", events),
	ROW("event table", event_table),
	ROW("event patch", event_patch),
	ROW("default class", class_default),
	ROW("node metrics", node_metrics),
	ROW("pod metrics", pod_metrics),
	ROW("metrics table", pods_metrics),
	ROW("watch", watch),
	ROW("watch table", watch_table),
	ROW("may I", may),
	ROW("what may I", rules),
	ROW("who am I", who),
	ROW("forbidden", forbidden),
	ROW("of a node", of_node),
	ROW("of another node", of_other_node),
	ROW("unknown", unknown),
	ROW("lost", lost),
	ROW("no such path", no_such_path),
	{0},
};
