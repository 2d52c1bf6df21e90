/* SPDX-License-Identifier: Apache-2.0
 *
 * When a probe runs, and what its results mean. One attempt at a time; one that becomes
 * due during another starts when that ends. */
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/agent/pod/probe_priv.h"
#include "engine/base/mem.h"
#include "engine/base/utf8.h"

/* The shim kills a command that takes too long; after this time more, its end is not
 * waited for. */
#define GUARD_USEC INT64_C(10000000)

/* A process on its way into a group. The answer comes even if the probe was freed. */
struct move {
	struct neap_probe *probe; /* NULL: freed, or killed meanwhile */
};

struct neap_probe {
	struct neap_probe_config config; /* its texts and JSON are not valid any more */
	const struct probe_orders *orders;
	struct probe_spec spec;
	enum neap_probe_verdict verdict;
	enum neap_probe_verdict last; /* the result of the last attempts, ... */
	int64_t run;                  /* ... and how many of them in a row */
	struct event *timer, *guard;
	struct probe_net *net;
	uint64_t id; /* the running command; 0: none */
	struct move *move;
	bool is_trying, is_due, is_over;
	char *pod_uid, *container, *cwd;
	char **envp;
};

static const char *const kinds[] = {
	[NEAP_PROBE_STARTUP] = "Startup",
	[NEAP_PROBE_LIVENESS] = "Liveness",
	[NEAP_PROBE_READINESS] = "Readiness",
};

static void add_timer(struct event *timer, int64_t usec)
{
	struct timeval after = {.tv_sec = usec / 1000000, .tv_usec = usec % 1000000};

	if (event_add(timer, &after) < 0)
		event_active(timer, EV_TIMEOUT, 0);
}

/* --- results --- */

/* A command's output can be any bytes. */
static void clean(char *text)
{
	size_t len = strlen(text), at = 0;

	while (at < len) {
		size_t n = 1;

		if ((unsigned char)text[at] < 0x80) {
			at++;
			continue;
		}
		while (n <= 4 && n <= len - at && !neap_utf8_is_valid(text + at, n))
			n++;
		if (n <= 4 && n <= len - at) {
			at += n;
		} else {
			text[at++] = '?';
		}
	}
}

/* Whether it is the last one. */
static bool is_final(const struct neap_probe *probe)
{
	switch (probe->config.kind) {
	case NEAP_PROBE_STARTUP:
		return probe->verdict != NEAP_PROBE_UNKNOWN;
	case NEAP_PROBE_LIVENESS:
		return probe->verdict == NEAP_PROBE_FAILURE;
	case NEAP_PROBE_READINESS:
		break;
	}
	return false;
}

/* Do not use probe after this: the callback may free it. */
static void tell(struct neap_probe *probe, const char *how, const char *what)
{
	char text[NEAP_PROBE_TEXT_MAX] = "";
	int len = 0;

	if (*how)
		len = snprintf(text, sizeof(text), "%s probe %s: %s",
			       kinds[probe->config.kind], how, what);
	if (len >= (int)sizeof(text))
		neap_utf8_trim(text);
	clean(text);
	probe->config.told(probe->config.arg, probe, probe->verdict, text);
}

static void attempt_end(struct neap_probe *probe)
{
	probe->is_trying = false;
	if (probe->is_due && !probe->is_over)
		add_timer(probe->timer, 0);
	probe->is_due = false;
}

/* The attempt could not be made: it does not count. */
static void errored(struct neap_probe *probe, const char *why)
{
	attempt_end(probe);
	tell(probe, "errored", why);
}

static void judged(struct neap_probe *probe, bool is_success, const char *why)
{
	const struct probe_spec *spec = &probe->spec;
	enum neap_probe_verdict result =
		is_success ? NEAP_PROBE_SUCCESS : NEAP_PROBE_FAILURE;
	enum neap_probe_verdict before = probe->verdict;

	probe->run = probe->last == result ? probe->run + 1 : 1;
	probe->last = result;
	if (probe->run >=
	    (is_success ? spec->success_threshold : spec->failure_threshold))
		probe->verdict = result;
	probe->is_over = is_final(probe);
	if (probe->is_over)
		(void)event_del(probe->timer);
	attempt_end(probe);
	if (!is_success)
		tell(probe, "failed", why);
	else if (probe->verdict != before)
		tell(probe, "", "");
}

static void net_done(void *arg, bool is_success, const char *text)
{
	judged(arg, is_success, text);
}

/* --- commands --- */

static void order_end(struct neap_probe *probe)
{
	uint64_t id = probe->id;

	if (probe->move)
		probe->move->probe = NULL;
	probe->move = NULL;
	probe->id = 0;
	(void)event_del(probe->guard);
	if (id)
		probe->config.id_drop(probe->config.arg, id);
}

/* Kills the command without waiting for its end. */
static void order_kill(struct neap_probe *probe)
{
	if (!probe->id)
		return;
	/* Without a keeper the command ends with its container. */
	(void)probe->orders->kill(probe->config.keeper, probe->id, SIGKILL, NULL);
	probe->orders->forget(probe->config.keeper, probe->id);
	order_end(probe);
}

static void order_fail(struct neap_probe *probe, const char *why)
{
	order_kill(probe);
	errored(probe, why);
}

static void guard_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	order_fail(arg, "the command gives no answer");
}

static void order_go(struct neap_probe *probe)
{
	struct neap_error err;

	if (probe->orders->go(probe->config.keeper, probe->id, &err) < 0)
		order_fail(probe, err.msg);
}

static void moved(void *arg, const struct neap_error *err)
{
	struct move *move = arg;
	struct neap_probe *probe = move->probe;

	free(move);
	if (!probe)
		return;
	probe->move = NULL;
	if (err)
		order_fail(probe, err->msg);
	else
		order_go(probe);
}

/* Takes fd. */
static void order_move_take(struct neap_probe *probe, int fd)
{
	struct move *move;

	if (!probe->config.node) {
		if (fd >= 0)
			close(fd);
		order_go(probe);
		return;
	}
	move = neap_alloc(sizeof(*move));
	if (!move) {
		close(fd);
		order_fail(probe, "no memory");
		return;
	}
	move->probe = probe;
	probe->move = move;
	/* This call may free the probe. */
	probe->orders->move(probe->config.node, probe->pod_uid, probe->container, fd,
			    moved, move);
	close(fd);
}

static void order_start(struct neap_probe *probe)
{
	struct neap_keeper_order order = {
		.pod_uid = probe->pod_uid,
		.container = probe->container,
		.attempt = probe->config.attempt,
		.argv = (const char *const *)probe->spec.argv,
		.envp = (const char *const *)probe->envp,
		.cwd = probe->cwd,
		.log_files_max = 1,
		.probe_usec = probe->spec.timeout_usec,
	};
	struct neap_error err = {0};

	probe->id = probe->config.id_new(probe->config.arg, probe);
	if (probe->orders->run(probe->config.keeper, probe->id, &order, &err) < 0) {
		order_end(probe);
		errored(probe, err.msg);
		return;
	}
	add_timer(probe->guard, probe->spec.timeout_usec + GUARD_USEC);
}

static void order_ended(struct neap_probe *probe, const struct neap_keeper_event *event)
{
	char text[NEAP_PROBE_TEXT_MAX];
	size_t len = 0;

	order_end(probe);
	if (!event->is_timeout) {
		judged(probe, event->exit_code == 0, event->text);
		return;
	}
	len = (size_t)snprintf(text, sizeof(text), "command \"");
	for (char **word = probe->spec.argv; *word && len < sizeof(text); word++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%.200s",
					word == probe->spec.argv ? "" : " ", *word);
	if (len < sizeof(text))
		(void)snprintf(text + len, sizeof(text) - len, "\" timed out");
	judged(probe, false, text);
}

void neap_probe_hear(struct neap_probe *probe, const struct neap_keeper_event *event)
{
	if (probe->id == 0 || event->id != probe->id) {
		if (event->fd >= 0)
			close(event->fd);
		return;
	}
	switch (event->what) {
	case NEAP_KEEPER_WAITING:
		order_move_take(probe, event->fd);
		break;
	case NEAP_KEEPER_STARTED:
		break;
	case NEAP_KEEPER_FAILED:
		order_end(probe);
		errored(probe, event->text);
		break;
	case NEAP_KEEPER_ENDED:
		order_ended(probe, event);
		break;
	case NEAP_KEEPER_LOST:
		order_end(probe);
		errored(probe, "it is not known how the command ended");
		break;
	}
}

/* --- when --- */

static void timer_cb(evutil_socket_t fd, short what, void *arg)
{
	struct neap_probe *probe = arg;

	(void)fd;
	(void)what;
	if (probe->is_trying) {
		probe->is_due = true;
		return;
	}
	add_timer(probe->timer, probe->spec.period_usec);
	probe->is_trying = true;
	if (probe->spec.argv) {
		order_start(probe);
		return;
	}
	probe_net_free(probe->net);
	probe->net = probe_net_new(probe->config.base, &probe->spec.target,
				   probe->spec.timeout_usec, net_done, probe);
	if (!probe->net)
		errored(probe, "no memory");
}

/* Time until the first attempt; part of it may have passed before neapd restarted. */
static int64_t first_usec(const struct neap_probe *probe)
{
	struct timespec now;
	int64_t passed, left;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	passed = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 -
		 probe->config.started_usec;
	left = probe->spec.delay_usec - (passed > 0 ? passed : 0);
	return left > 0 ? left : 0;
}

/* --- life --- */

static bool copy_texts(struct neap_probe *probe, const struct neap_probe_config *config)
{
	static const char *const none[] = {NULL};

	probe->pod_uid = neap_strdup(config->pod_uid ? config->pod_uid : "");
	probe->container = neap_strdup(config->container ? config->container : "");
	probe->envp = probe_texts_dup(config->envp ? config->envp : none);
	if (config->cwd)
		probe->cwd = neap_strdup(config->cwd);
	return probe->pod_uid && probe->container && probe->envp &&
	       (!config->cwd || probe->cwd);
}

static const enum neap_probe_verdict at_first[] = {
	[NEAP_PROBE_STARTUP] = NEAP_PROBE_UNKNOWN,
	[NEAP_PROBE_LIVENESS] = NEAP_PROBE_SUCCESS,
	[NEAP_PROBE_READINESS] = NEAP_PROBE_FAILURE,
};

int probe_new_with(const struct neap_probe_config *config,
		   const struct probe_orders *orders, struct neap_probe **ret,
		   struct neap_error *err)
{
	struct neap_probe *probe = neap_alloc(sizeof(*probe));
	int rc;

	if (!probe)
		return neap_error_nomem(err);
	probe->config = *config;
	probe->orders = orders;
	probe->verdict = at_first[config->kind];
	rc = probe_spec_init(&probe->spec, config->spec, config->ports,
			     config->second_usec ? config->second_usec : 1000000, err);
	if (rc < 0) {
		free(probe);
		return rc;
	}
	if (probe->spec.argv && (!config->keeper || !config->id_new)) {
		neap_probe_free(probe);
		return neap_error_field(err, NEAP_EUNSUPPORTED, "exec",
					"commands are not run here");
	}
	probe->timer = event_new(config->base, -1, 0, timer_cb, probe);
	probe->guard = event_new(config->base, -1, 0, guard_cb, probe);
	if (!probe->timer || !probe->guard || !copy_texts(probe, config)) {
		neap_probe_free(probe);
		return neap_error_nomem(err);
	}
	add_timer(probe->timer, first_usec(probe));
	*ret = probe;
	return 0;
}

void neap_probe_free(struct neap_probe *probe)
{
	if (!probe)
		return;
	order_kill(probe);
	probe_net_free(probe->net);
	if (probe->timer)
		event_free(probe->timer);
	if (probe->guard)
		event_free(probe->guard);
	probe_spec_done(&probe->spec);
	free(probe->pod_uid);
	free(probe->container);
	free(probe->cwd);
	probe_texts_free(probe->envp);
	free(probe);
}

enum neap_probe_kind neap_probe_kind_get(const struct neap_probe *probe)
{
	return probe->config.kind;
}
