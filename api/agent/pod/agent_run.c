/* SPDX-License-Identifier: Apache-2.0
 *
 * Containers: an attempt is ordered, waits until its process was moved into its group,
 * runs, and ends.
 *
 * A daemon can be killed at any point, and the next one starts nothing twice:
 *   before the keeper took the order: there is no folder, so the attempt starts now
 *   before the process was moved or released: it still waits, the keeper reports WAITING,
 *   and it is moved (again) and released
 *   before its status was written: the keeper reports STARTED or ENDED, which is written
 *   after it ended, before the next attempt: the newest folder is the ended one, and the
 *   next attempt follows it, once
 *   before its pod's object was removed: the object still has its deletion, and running
 *   containers are ended
 *   after its object was removed: a folder without a pod, whose processes are killed and
 *   which is then removed
 * A folder's number is the restart count, so an unwritten count is not lost either. After
 * a reboot there are folders without shims: their attempts are LOST, and the restart
 * policy decides whether there is a next one. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/agent/pod/agent_priv.h"
#include "engine/base/file.h"

/* Seconds until a missing thing is looked for again. */
#define AGAIN_S    10
#define RETRY_USEC 1000000
/* How often, and in which interval, a container that seems lost is asked for again. */
#define ASKS     5
#define ASK_USEC 100000

static struct neap_pod_container *life_of(struct agent_container *container)
{
	return &container->pod->life.containers[container->index];
}

static int64_t seconds(const struct agent_container *container, int64_t count)
{
	int64_t second = container->pod->agent->config.second_usec;

	return count * (second > 0 ? second : 1000000);
}

static int64_t now_of(const struct agent_container *container)
{
	return agent_now(container->pod->agent);
}

/* --- probes --- */

static void drop_probe(struct agent_container *container, enum neap_probe_kind kind)
{
	neap_probe_free(container->probes[kind]);
	container->probes[kind] = NULL;
}

static void drop_probes(struct agent_container *container)
{
	for (size_t i = 0; i < AGENT_PROBES; i++)
		drop_probe(container, (enum neap_probe_kind)i);
}

static const char *const probe_names[AGENT_PROBES] = {"startupProbe", "livenessProbe",
						      "readinessProbe"};

static uint64_t probe_id_new(void *arg, struct neap_probe *probe)
{
	struct agent_container *container = arg;

	return agent_id_new(container->pod->agent, container, probe);
}

static void probe_id_drop(void *arg, uint64_t id)
{
	struct agent_container *container = arg;

	if (container->pod->agent != NULL)
		agent_id_drop(container->pod->agent, id);
}

static void make_probe(struct agent_container *container, enum neap_probe_kind kind,
		       neap_probe_told *told)
{
	const struct neap_agent_config *config = &container->pod->agent->config;
	const struct neap_pod_container *one = life_of(container);
	const json_t *spec = agent_container_spec(container);
	struct neap_probe_config probe = {
		.base = config->base,
		.kind = kind,
		.spec = json_object_get(spec, probe_names[kind]),
		.ports = json_object_get(spec, "ports"),
		.started_usec = one->started_usec,
		.told = told,
		.arg = container,
		.second_usec = config->second_usec,
		.keeper = config->keeper,
		.node = config->node,
		.pod_uid = container->pod->uid,
		.container = one->name,
		.attempt = one->attempt,
		.envp = (const char *const *)container->order.envp,
		.cwd = container->order.cwd,
		.id_new = probe_id_new,
		.id_drop = probe_id_drop,
	};
	struct neap_error err;

	if (probe.spec == NULL || one->is_init || container->probes[kind] != NULL)
		return;
	if (neap_probe_new(&probe, &container->probes[kind], &err) < 0 &&
	    err.code == NEAP_ENOMEM)
		agent_note(container->pod, container, true, "Unhealthy", "%s: %s",
			   probe_names[kind], err.msg);
}

static void stop_unwell(struct agent_container *container, enum neap_probe_kind kind)
{
	const json_t *spec =
		json_object_get(agent_container_spec(container), probe_names[kind]);
	const json_t *grace = json_object_get(spec, "terminationGracePeriodSeconds");

	neap_pod_life_unwell(&container->pod->life, container->index,
			     json_is_integer(grace) ? json_integer_value(grace)
						    : container->pod->life.grace_s);
	agent_note(container->pod, container, false, "Killing",
		   "Container %s failed %s probe, will be restarted",
		   life_of(container)->name,
		   kind == NEAP_PROBE_STARTUP ? "startup" : "liveness");
}

static void told(void *arg, struct neap_probe *probe, enum neap_probe_verdict verdict,
		 const char *text)
{
	struct agent_container *container = arg;
	struct neap_pod_container *one = life_of(container);
	enum neap_probe_kind kind = neap_probe_kind_get(probe);

	if (text[0] != '\0')
		agent_note(container->pod, container, true, "Unhealthy", "%s", text);
	if (kind == NEAP_PROBE_READINESS)
		one->is_ready_ok = verdict == NEAP_PROBE_SUCCESS;
	else if (kind == NEAP_PROBE_STARTUP && verdict == NEAP_PROBE_SUCCESS)
		one->is_startup_ok = true;
	else if (verdict == NEAP_PROBE_FAILURE && !one->is_unwell)
		stop_unwell(container, kind);
	if (kind == NEAP_PROBE_STARTUP && one->is_startup_ok) {
		make_probe(container, NEAP_PROBE_LIVENESS, told);
		make_probe(container, NEAP_PROBE_READINESS, told);
	}
	agent_pod_wake(container->pod, 0);
}

/* A probe that an earlier neapd started uses the present environment. */
static void make_probes(struct agent_container *container)
{
	const struct neap_pod_container *one = life_of(container);
	struct neap_error err;

	if (container->pod->tree == NULL)
		return;
	if (container->order.envp == NULL &&
	    agent_order_make(container, &container->order, &err) < 0)
		agent_note(container->pod, container, true, "Unhealthy",
			   "probes run without environment: %s", err.msg);
	if (one->has_startup) {
		make_probe(container, NEAP_PROBE_STARTUP, told);
		return;
	}
	make_probe(container, NEAP_PROBE_LIVENESS, told);
	make_probe(container, NEAP_PROBE_READINESS, told);
}

/* --- starting --- */

void agent_forget(struct agent_container *container)
{
	struct neap_agent *agent = container->pod->agent;

	drop_probes(container);
	neap_fd_close(&container->fd);
	agent_order_done(&container->order);
	if (container->id == 0)
		return;
	neap_keeper_forget(agent->config.keeper, container->id);
	agent_id_drop(agent, container->id);
	container->id = 0;
}

static void put_off(struct agent_container *container, const char *why)
{
	agent_note(container->pod, container, true, "Failed", "Error: %s", why);
	neap_pod_life_put_off(&container->pod->life, container->index, why,
			      now_of(container) + seconds(container, AGAIN_S));
}

/* If the keeper cannot be asked now, it is asked again later. */
void agent_adopt(struct agent_container *container)
{
	struct neap_agent *agent = container->pod->agent;
	struct neap_pod_container *one = life_of(container);
	struct neap_error err;

	if (container->id != 0)
		return;
	container->id = agent_id_new(agent, container, NULL);
	if (container->id != 0 &&
	    neap_keeper_attach(agent->config.keeper, container->id, container->pod->uid,
			       one->name, one->attempt, &err) >= 0) {
		if (one->is_killed) /* meanwhile */
			agent_signal(container, SIGKILL);
		return;
	}
	if (container->id == 0)
		(void)neap_error_nomem(&err);
	agent_forget(container);
	neap_log_line(agent->config.log, NEAP_LOG_WARN,
		      "pod %s/%s, container %s: taken over later: %s", container->pod->ns,
		      container->pod->name, one->name, err.msg);
	if (err.code == NEAP_EINVAL) /* not a folder of the keeper */
		neap_pod_life_lost(&container->pod->life, container->index,
				   now_of(container));
	agent_pod_wake(container->pod, RETRY_USEC);
}

static int order(struct agent_container *container, unsigned attempt,
		 struct neap_error *err)
{
	struct neap_agent *agent = container->pod->agent;
	const struct neap_agent_config *config = &agent->config;
	const struct neap_keeper_order order = {
		.pod_uid = container->pod->uid,
		.container = life_of(container)->name,
		.attempt = attempt,
		.argv = (const char *const *)container->order.argv,
		.envp = (const char *const *)container->order.envp,
		.cwd = container->order.cwd,
		.log_bytes_max = config->log_bytes_max,
		.log_files_max = config->log_files_max,
	};

	container->id = agent_id_new(agent, container, NULL);
	if (container->id == 0)
		return neap_error_nomem(err);
	return neap_keeper_run(config->keeper, container->id, &order, err);
}

void agent_start(struct agent_container *container, unsigned attempt)
{
	struct neap_agent *agent = container->pod->agent;
	struct neap_pod_container *one = life_of(container);
	struct neap_error err;

	agent_forget(container);
	container->failed_move[0] = '\0';
	if (agent_folder_has(agent->config.dir, container->pod->uid, one->name,
			     attempt)) {
		neap_pod_life_adopt(&container->pod->life, container->index, attempt);
		agent_adopt(container);
		return;
	}
	if (agent_order_make(container, &container->order, &err) < 0) {
		put_off(container, err.msg);
		return;
	}
	if (order(container, attempt, &err) < 0) {
		agent_forget(container);
		put_off(container, err.msg);
		agent->is_keeper_gone =
			agent->is_keeper_gone || err.code == NEAP_EUNAVAILABLE;
		return;
	}
	agent_note(container->pod, container, false, "Created", "Created container: %s",
		   one->name);
	if (attempt >= 2)
		agent_folder_remove(agent->config.dir, container->pod->uid, one->name,
				    attempt - 1);
}

/* --- moving --- */

static void moved(void *arg, const struct neap_error *failure)
{
	struct agent_container *container = arg;
	struct agent_pod *pod = container->pod;
	struct neap_error err;

	container->is_moving = false;
	if (pod->agent != NULL && container->id != 0) {
		if (failure == NULL &&
		    neap_keeper_go(pod->agent->config.keeper, container->id, &err) < 0)
			failure = &err;
		if (failure != NULL) {
			(void)snprintf(container->failed_move,
				       sizeof(container->failed_move),
				       "not moved into its group: %.200s", failure->msg);
			agent_signal(container, SIGKILL);
		}
		agent_pod_wake(pod, 0);
	}
	agent_pod_unref(pod);
}

/* The groups must exist, and the container must not have been ended meanwhile. */
void agent_move(struct agent_container *container)
{
	struct agent_pod *pod = container->pod;

	if (container->fd < 0 || container->is_moving || life_of(container)->is_killed ||
	    pod->life.groups != NEAP_POD_GROUPS_MADE)
		return;
	container->is_moving = true;
	(void)agent_pod_ref(pod);
	neap_node_pod_move(pod->agent->config.node, pod->uid, life_of(container)->name,
			   container->fd, moved, container);
	neap_fd_close(&container->fd);
}

void agent_signal(struct agent_container *container, int signo)
{
	struct neap_error err;

	if (container->id == 0)
		return;
	if (neap_keeper_signal(container->pod->agent->config.keeper, container->id, signo,
			       &err) < 0)
		neap_log_line(container->pod->agent->config.log, NEAP_LOG_WARN,
			      "pod %s/%s, container %s: signal %d: %s",
			      container->pod->ns, container->pod->name,
			      life_of(container)->name, signo, err.msg);
}

/* --- events of the keeper --- */

static void hear_waiting(struct agent_container *container, int fd)
{
	neap_fd_close(&container->fd);
	container->fd = fd;
	neap_pod_life_waiting(&container->pod->life, container->index);
	agent_move(container);
}

static void hear_started(struct agent_container *container, int64_t started_usec,
			 bool was_adopted)
{
	struct agent_pod *pod = container->pod;

	neap_pod_life_started(&pod->life, container->index, started_usec);
	if (!was_adopted)
		agent_note(pod, container, false, "Started", "Started container %s",
			   life_of(container)->name);
	make_probes(container);
}

static void hear_ended(struct agent_container *container,
		       const struct neap_keeper_event *event)
{
	struct neap_pod_life *life = &container->pod->life;
	struct neap_pod_end end = {.exit_code = event->exit_code,
				   .signo = event->signo,
				   .started_usec = event->started_usec,
				   .ended_usec = event->ended_usec > 0
							 ? event->ended_usec
							 : now_of(container)};

	if (container->failed_move[0] != '\0') {
		agent_note(container->pod, container, true, "Failed", "Error: %s",
			   container->failed_move);
		neap_pod_life_failed(life, container->index, container->failed_move,
				     end.ended_usec);
	} else {
		neap_pod_life_ended(life, container->index, &end);
	}
	agent_forget(container);
}

/* A daemon that ended a moment ago may have ordered a container that appears only now:
 * its folder was made meanwhile, or exists before its shim answers. True: its state is
 * asked for again. */
static bool is_coming(struct agent_container *container,
		      const struct neap_keeper_event *event, bool was_adopted)
{
	struct agent_pod *pod = container->pod;
	struct neap_pod_container *one = life_of(container);
	bool is_made = event->what == NEAP_KEEPER_FAILED && !was_adopted &&
		       event->errnum == EEXIST;

	if (!is_made && (event->what != NEAP_KEEPER_LOST || !was_adopted ||
			 container->asked_again >= ASKS))
		return false;
	container->asked_again = is_made ? 0 : container->asked_again + 1;
	agent_forget(container);
	neap_pod_life_adopt(&pod->life, container->index, one->attempt);
	agent_pod_wake(pod, is_made ? 0 : ASK_USEC);
	return true;
}

void agent_hear(struct agent_container *container, const struct neap_keeper_event *event)
{
	struct agent_pod *pod = container->pod;
	bool was_adopted = life_of(container)->is_adopted;

	if (is_coming(container, event, was_adopted))
		return;
	container->asked_again = 0;
	switch (event->what) {
	case NEAP_KEEPER_WAITING:
		hear_waiting(container, event->fd);
		break;
	case NEAP_KEEPER_STARTED:
		hear_started(container, event->started_usec, was_adopted);
		break;
	case NEAP_KEEPER_FAILED:
		if (!was_adopted)
			agent_note(pod, container, true, "Failed", "Error: %s",
				   event->text);
		neap_pod_life_failed(&pod->life, container->index, event->text,
				     now_of(container));
		agent_forget(container);
		break;
	case NEAP_KEEPER_ENDED:
		hear_ended(container, event);
		break;
	case NEAP_KEEPER_LOST:
		neap_pod_life_lost(&pod->life, container->index, now_of(container));
		agent_forget(container);
		break;
	}
	agent_pod_wake(pod, 0);
}
