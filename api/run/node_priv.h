/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared inside api/run only. A tick has three parts. struct node_observe: find.c finds
 * the workloads and names pods, observe.c turns readings into the sample. struct
 * node_plan: wishes.c merges the wishes of policies and base values into one plan, pins.c
 * adds assigned CPUs. struct node_write: writes.c sends the plan to the hand, records the
 * answers in the audit and reports refusals; kept.c has the values that neap changed, and
 * sends what the hand must know of them before.
 *
 * The other files use the whole struct neap_node: node.c (life and tick), ask.c
 * (policies, at ticks and between them), triggers.c (pressure events), kubelet.c (its
 * files), launch.c (neap's own groups, and `neapctl run`), pods.c and pods_spec.c (pods),
 * records.c (records of both), report.c (JSON). */
#ifndef NEAP_API_RUN_NODE_PRIV_H
#define NEAP_API_RUN_NODE_PRIV_H

#include "api/run/node.h"
#include "engine/base/buf.h"
#include "engine/base/map.h"
#include "engine/numa/kubelet_facts.h"
#include "hw/readings.h"

#define AUDIT_ENTRIES 2048
/* Slow values are read in every tenth tick, groups in turn: memory.stat (it costs the
 * kernel more than all other files of a group together), pressure of memory and I/O, and
 * limits that neap did not just write itself. */
#define SLOW_EVERY 10
/* Number of ticks in which a new container is asked for its first process each time. */
#define UNSETTLED_LOOKS 20

/* A cgroup directory that neap reads: a tree's root and class directories, pods,
 * containers, host applications. node->groups has it by its path. The fields of every
 * tick lie together on few pages, because the kernel's reads push them out of the CPU's
 * caches. */
struct node_group {
	struct neap_group *files;
	unsigned parts;
	unsigned turn; /* slow values are read when ticks % SLOW_EVERY is this */
	bool has_now, has_before;
	/* A container in which a process was seen: its creator has set the group up. */
	bool is_settled;
	bool is_birth_noted; /* its initial values were examined */
	uint64_t born, seen; /* ticks of its first and last look */
	struct neap_reading now, before;
	const char *dir; /* of files */
};

/* A pod, a run or a host application, kept from tick to tick. Its sample is in
 * node->views, in the same order. */
struct node_workload {
	struct node_group *group;
	struct node_group **containers;
	size_t container_count;
	struct neap_window *used;
	double used_p50_cores, used_p90_cores,
		used_p99_cores;           /* as of its last slow turn */
	const struct neap_workload *view; /* has its names; NULL: none has */
	const char *source;
	enum neap_qos qos;
	enum neap_kube_qos kube_qos;
	bool is_host_app, is_own;
	bool is_settled; /* one of its containers is */
	/* tick until which its containers are asked for processes every time */
	uint64_t young_until;
	bool is_named;       /* a pod whose name is NAMESPACE/NAME */
	bool is_run, is_pod; /* which of both, if neap made it and knows */
	/* The values that `neapctl run` or the pod asked for; missing: none. */
	int64_t cpu_request_milli, cpu_limit_milli, memory_limit_bytes;
	bool is_removing;
	int64_t processes;
	/* the pod's usage when it was last asked for first processes */
	int64_t asked_usage_usec;
	int64_t max_milli;
	uint64_t seen;
	char id[128], name[128];
	struct neap_cpuset cpus; /* in force, as last read */
};

/* A (group, key) whose value neap changed; node->kept has it by "group\nkey". */
struct node_kept {
	char group[NEAP_PATH_MAX];
	enum neap_key key;
	char *found; /* the kernel's text before neap's first write */
	/* before the last write that changed it; only for CPU sets, else NULL */
	char *previous;
	char policy[64];
	char why[160];
	uint64_t wished_tick; /* the last tick in which a wish asked for it */
	bool is_restore_due;  /* the hand must restore and forget it */
	bool is_restoring;    /* the hand was asked to */
	/* The group's own value as the hand knows it, "": none; and the last tick in
	 * which the group had one. */
	char own[32];
	uint64_t own_tick;
	/* an earlier neapd set it, and no wish has asked for it since */
	bool is_taken_over;
};

enum node_state { NODE_ACTING, NODE_WATCHING, NODE_DRY_RUN, NODE_RELEASED };

/* kubelet.c: the kubelet's files as last read. */
struct node_kubelet {
	json_t *state;                   /* NULL: not there */
	struct neap_kubelet_facts facts; /* from the state alone */
	/* CPUs that the kubelet gave to pods, for the current plan. CPUs that a scheduler
	 * named do not count as given by the kubelet. */
	struct neap_cpuset given;
	struct neap_buf config;
	bool has_config;
	int asked;                 /* answers of the hand that are still to come */
	struct neap_error trouble; /* of the current look or the last one; code 0: none */
	bool is_wrong;             /* the trouble was logged */
	bool is_known; /* the files were read, so the first plan respects them */
	int64_t looked_usec;
};

/* What an answer of the hand belongs to. */
struct node_pending {
	uint64_t id;
	enum neap_hand_op op;
	char group[NEAP_PATH_MAX];
	enum neap_key key;
	char policy[64];
	char why[160];
	void (*answered)(struct neap_node *node, void *arg,
			 const struct neap_hand_answer *answer);
	void *arg;
	bool is_arg_owned;          /* free arg if no answer ever comes */
	void (*dropped)(void *arg); /* called before that; may be NULL */
};

/* MADE: waits for an ordinary plan to write the values. WRITING: that plan was sent. */
enum launch_step { LAUNCH_MAKING, LAUNCH_MADE, LAUNCH_WRITING, LAUNCH_READY };

/* Groups in creation, in node->launches until neap_launch_end. It is embedded in a larger
 * struct, which outlives it. */
struct node_launch {
	enum launch_step step;
	char id[128]; /* of the workload */
	char dir[NEAP_PATH_MAX];
	size_t container_count;
	size_t unmade;  /* answers that the hand still owes */
	bool is_strict; /* it fails when one of its own values is refused */
	bool is_pod;    /* the hand restores its groups only when they are empty */
	struct neap_error err;
	/* Called once, when all is done or err says why not. The launch is still in the
	 * map then. */
	void (*ready)(struct neap_node *node, struct node_launch *launch);
	/* called when the node ends; may be NULL */
	void (*drop)(struct node_launch *launch);
};

#define NODE_REACTIONS_KEPT 256
/* Times are from the trigger's wake-up to the hand's answer to the last write. */
struct node_reactions {
	uint64_t count, written; /* written: those that led to a write */
	int64_t last_usec, max_usec;
	int32_t recent_usec[NODE_REACTIONS_KEPT]; /* a ring, indexed by written */
};

/* See writes.c. Times are on the monotonic clock, 0: none. */
struct node_trouble {
	uint64_t plans;     /* plans begun */
	bool is_on;         /* a write was refused, and the end of that was not logged */
	int64_t since_usec; /* the first log line of this span */
	int errnum;         /* the errno of those lines */
	unsigned told;      /* log lines in this span */
	size_t untold;      /* refusals without a log line */
	bool is_summed;     /* the number of those was logged in this span */
	bool is_end_told;   /* the end of all refusals was logged */
	/* when a tick first saw that the hand owes an answer; it has given none since */
	int64_t asked_usec;
	bool is_silent; /* its silence was logged */
};

struct neap_triggers;

struct node_made;
struct node_pins;

/* Who has which CPUs, by the kubelet's files and by neap_node_pins (pins.c,
 * kubelet.c). */
struct node_given {
	char kubelet_cpu_policy[32]; /* "none" or "static" */
	struct node_kubelet kubelet;
	struct node_pins *pins; /* NULL: no CPUs were assigned yet */
};

/* The present state: machine, groups, workloads, and the sample for policies. A look
 * fills it. It does not know plans and writes. */
struct node_observe {
	const struct neap_node_config *config;
	struct neap_cgroup *cgroup;
	const struct node_given *given;
	/* Called for a new workload in one of neap's own groups: fills in what it asked
	 * for. */
	void (*came)(struct neap_node *node, struct node_workload *workload);
	struct neap_node *node; /* only for came */

	struct neap_topology *topology;
	int64_t memory_bytes;   /* of the machine; NEAP_MISSING: it cannot be read */
	bool is_topology_young; /* CPUs came or went at the last look */
	struct neap_readings *readings;
	struct neap_scan *scan;
	uint64_t groups_made;
	bool has_found;             /* workloads are those of the last look */
	uint64_t found_tick;        /* the last tick in which a workload came or went */
	struct neap_map *groups;    /* dir -> struct node_group */
	struct neap_map *workloads; /* group dir -> struct node_workload */

	uint64_t ticks; /* number of looks: ticks and reactions */
	int64_t started_mono_usec;
	int64_t mono_usec, mono_before_usec;
	int64_t unix_usec;
	bool has_written;    /* limits may have changed since the last look */
	bool is_reaction;    /* a reaction is looking */
	bool was_reaction;   /* the last look was a reaction; before is the last tick's */
	int64_t looked_usec; /* when the sample was read */

	struct neap_sample sample;
	struct neap_workload *views;
	size_t view_size;
	uint64_t texts_mark; /* the last mark given to a view */
	struct neap_node_reading reading, reading_before;
	bool has_reading;
	struct neap_window *node_used;
};

/* The wanted state, made from the look and the wishes of policies. */
struct node_plan {
	const struct neap_node_config *config;
	struct neap_cgroup *cgroup;
	struct neap_registry *registry;
	struct node_observe *observe;
	struct node_given *given;
	const struct node_made *made;

	struct neap_plan *plan;
	struct neap_map *kept; /* group and key -> struct node_kept */
	size_t restores_due;
	bool is_released;   /* the node wants only the original values */
	bool is_given_back; /* the hand has restored them */
};

/* The requests to the hand and their results. */
struct node_write {
	const struct neap_node_config *config;
	struct neap_cgroup *cgroup;
	struct node_plan *plan;
	struct neap_hand *hand;
	struct neap_audit *audit;

	struct node_pending *pending;
	size_t pending_count, pending_size;
	size_t plan_inflight; /* unanswered writes of the last plan */
	uint64_t next_id;
	bool wants_write;
	uint64_t last_dry_hash;    /* so that a dry run logs each plan once */
	struct neap_map *failures; /* group and key -> refusal of the last plan */
	struct node_trouble trouble;
	uint64_t writes,
		writes_refused; /* answers of the hand; a vanished group is neither */
	uint64_t late_plans;    /* ticks without a plan because the hand was busy */
};

/* neap's own groups, which come and go with their workloads. */
struct node_made {
	struct neap_map *launches; /* pod dir -> struct node_launch */
	struct neap_map *pods;     /* uid -> struct node_pod */
	bool is_pids_told, are_records_swept;
};

/* The state between two ticks. */
struct node_react {
	struct neap_triggers *triggers; /* NULL without a loop to watch them */
	struct node_reactions reactions;
	bool is_plan_owed; /* the hand was busy when a reaction wanted to write */
	/* when evenly spaced reactions would have reached the next one */
	int64_t paced_usec;
	int64_t waked_usec; /* of the reaction with unanswered writes, 0: none */
};

/* A tick looks, plans and writes, in this order. Each part reads the parts before it and
 * does not change them, with one exception: a write sets has_written of the look and
 * updates the kept values of the plan. */
struct neap_node {
	struct neap_node_config config;
	struct neap_cgroup *cgroup;
	struct neap_registry *registry;
	const struct neap_kind *kind; /* of the policies that it asks: qos */
	enum node_state state;
	bool is_frozen;
	bool is_open; /* the hand has made our groups and sent its journal */
	struct neap_error open_err; /* why it could not */
	size_t ask_first; /* the slot that the next tick asks first: it was put off */
	double tick_cpu_avg_usec;

	struct node_given given;
	struct node_observe observe;
	struct node_plan plan;
	struct node_write write;
	struct node_made made;
	struct node_react react;
};

/* find.c */
/* Finds the workloads that are there, for node->workloads. */
int neap_find_workloads(struct node_observe *observe, struct neap_error *err);
void neap_workload_free(struct node_workload *workload);
/* Looks up the names of new pods. Called at each look, after pods were found. */
void neap_names_look(struct node_observe *observe);
/* "shop/web" for the group of a pod or of its container; "" for any other group. */
void neap_names_pod(const struct node_plan *plan, const char *group, char *buf,
		    size_t size);
/* observe.c */
int neap_observe(struct node_observe *observe, struct neap_error *err);
struct node_group *neap_node_group(struct node_observe *observe, const char *dir,
				   unsigned parts);
/* Reads the present value of a file. It uses an open descriptor of the looks, or opens
 * one and keeps it. arg is the struct node_observe. */
int neap_observe_read_key(void *arg, const char *dir, enum neap_key key,
			  struct neap_value *ret, struct neap_error *err);
int neap_observe_topology(struct node_observe *observe, struct neap_error *err);
/* ask.c */
void neap_ask_policies(struct neap_node *node);
int neap_react_open(struct neap_node *node, struct neap_error *err);
void neap_react_sync(struct neap_node *node);
void neap_react_written(struct neap_node *node);
void neap_react_report(const struct neap_node *node, json_t *out);
/* wishes.c */
/* Whether the key's file has the form of cgroup v2. */
bool neap_key_is_v2(const struct neap_cgroup *cgroup, enum neap_key key);
void neap_gather_wishes(struct node_plan *plan);
/* Charges the CPU time of building the plan to the policies whose wishes are in it. */
void neap_charge_plan(struct node_plan *plan, int64_t cpu_usec);
/* Adds a base value of neap's own. */
void neap_wish_number(struct node_plan *plan, const char *group, enum neap_key key,
		      int64_t number, const char *why);
/* Wishes for assigned CPUs. The wishes of policies for the same file are already cut to
 * them. */
void neap_wish_cpus(struct node_plan *plan, const char *group,
		    const struct neap_cpuset *cpus, const char *why);
void neap_wish_besteffort_cpus(struct node_plan *plan, const struct neap_cpuset *cpus,
			       const char *why);
/* writes.c */
/* False when no plan could be made or not all of it was sent. */
bool neap_plan_and_write(struct neap_node *node);
/* Logs refused writes and a silent hand, and their end. Called at each tick. */
void neap_trouble_look(struct node_write *write);
/* Whether a hand writes. Without one, and in a dry run, neap only watches. */
bool neap_node_writes(const struct node_write *write);
/* In a dry run only NEAP_HAND_KUBELET is allowed. */
int neap_node_send(struct node_write *write, const struct neap_hand_request *request,
		   const struct node_pending *pending, struct neap_error *err);
void neap_node_flush(struct node_write *write);
void neap_node_note(struct node_write *write, const char *what, const char *group,
		    const char *policy, const char *why, int errnum);
/* Records the hand's answer to a write in audit, counts and log. */
void neap_audit_write(struct node_write *write, const struct node_pending *pending,
		      const struct neap_hand_answer *answer, const char *what);
/* Whether values that an earlier neapd set still stay as they are. */
bool neap_observe_is_settling(const struct node_observe *observe);
/* kept.c */
struct node_kept *neap_kept_find(const struct node_plan *plan, const char *group,
				 enum neap_key key);
/* Finds it, or notes the original value. NULL without memory. */
struct node_kept *neap_kept_note(struct node_plan *plan, const char *group,
				 enum neap_key key, const char *found);
void neap_kept_drop(struct node_plan *plan, const char *group, enum neap_key key);
void neap_kept_clear(struct node_plan *plan);
/* Whether the group is below neap's own groups. */
bool neap_node_is_own(const struct neap_node_config *config, const char *group);
/* Sends the groups' own values to the hand where they changed. Called before the writes
 * of a plan. */
int neap_own_tell(struct node_write *write, struct neap_error *err);
void neap_own_answered(struct node_write *write, const struct node_pending *pending,
		       const struct neap_hand_answer *answer);
/* The original value for a group that was made while its parent was narrowed: the
 * parent's original value. *ret_own is the group's present value. NULL: the parent was
 * not narrowed, and the hand notes what it finds. */
const char *neap_inherited_found(struct node_write *write, const char *dir,
				 enum neap_key key, struct neap_value *ret_own);
/* Asks the hand to note such groups that came since the last look. Called before a plan
 * is sent. */
void neap_inherit_look(struct node_write *write);
/* kubelet.c */
void neap_kubelet_open(struct neap_node *node);
void neap_kubelet_tick(struct neap_node *node);
void neap_kubelet_close(struct neap_node *node);
/* launch.c */
#define NEAP_LAUNCH_RELEASED                                                             \
	"neapd has given everything back: 'neapctl resume' lets it write again"
/* Fails when no groups may be made now. */
int neap_launch_check(const struct neap_node *node, struct neap_error *err);
bool neap_launch_has_id(const struct neap_node *node, const char *id);
/* Needs ready, dir and id. Containers are names of directories; none: only the pod's own
 * group. After an error nothing is in progress; else ready is called, never before this
 * function returns. */
int neap_launch_start(struct neap_node *node, struct node_launch *launch,
		      const char *const *containers, size_t count,
		      struct neap_error *err);
bool neap_launch_is_active(const struct neap_node *node,
			   const struct node_launch *launch);
void neap_launch_end(struct neap_node *node, const struct node_launch *launch);
void neap_launch_error(struct neap_error *err, const char *what, const char *dir,
		       const struct neap_hand_answer *answer);
/* Called when a write was refused. */
void neap_launch_refused(struct neap_node *node, const struct node_pending *pending,
			 const struct neap_hand_answer *answer);
/* Takes the next step of each launch that can take one. */
void neap_launch_go(struct neap_node *node);
/* Asks for the removal of the group of a run without processes; not of a pod's. */
void neap_launch_collect(struct neap_node *node, struct node_workload *workload);
void neap_launch_free(struct neap_node *node);
/* Asks the hand to remove the group. On 0, answered, which may be NULL, is called with
 * arg later. */
int neap_group_drop(struct neap_node *node, const char *dir,
		    void (*answered)(struct neap_node *, void *,
				     const struct neap_hand_answer *),
		    void *arg, bool is_arg_owned);
/* pods.c */
/* Adds base values of the pod's containers. */
void neap_pod_wish(struct node_plan *plan, const struct node_workload *workload);
/* Asks for the removal of groups whose pods must go; is_late: also of empty ones that
 * nobody added again. */
void neap_pods_collect(struct neap_node *node, bool is_late);
void neap_pods_free(struct neap_node *node);
/* pins.c */
void neap_node_pins_free(struct node_given *given);
/* Computes the shared CPUs. Called before a plan. */
void neap_node_pins_look(struct node_given *given, struct neap_topology *topology);
void neap_node_pins_wish(struct node_plan *plan);
bool neap_node_pins_has_own(const struct node_given *given,
			    const struct node_workload *workload);
/* Whether the CPU set of its class directory does not apply to it. */
bool neap_node_pins_is_apart(const struct node_given *given,
			     const struct node_workload *workload);
/* Adds the CPUs of those below the directory; false: there are none. */
bool neap_node_pins_add_below(const struct node_plan *plan, const char *dir,
			      struct neap_cpuset *cpus);
/* Cuts a policy's wish to what the workload, or those of the class, may have. CPUs that a
 * kubelet gave to a pod are always cut, even if neap does not know the pod. False:
 * nothing is left, or only the kubelet decides what the workload has. */
bool neap_node_pins_cut(const struct node_plan *plan,
			const struct node_workload *workload, struct neap_cpuset *cpus);
bool neap_node_pins_cut_class(const struct node_plan *plan, enum neap_kube_qos qos,
			      struct neap_cpuset *cpus);
/* Cuts the group's original CPUs: those that a kubelet has given to a pod since are taken
 * out. False: nothing is left. */
bool neap_node_pins_cut_back(const struct node_plan *plan, const char *dir,
			     struct neap_cpuset *cpus);
/* Whether the tree's class and pod directories may be narrowed. */
bool neap_node_pins_may_narrow(const struct node_plan *plan, int tree);
void neap_node_pins_show(const struct node_given *given,
			 const struct neap_topology *topology,
			 struct node_workload *workload, struct neap_workload *view);
void neap_node_pins_show_node(const struct node_given *given,
			      const struct neap_node_config *config,
			      struct neap_sample *sample);
/* records.c */
void neap_workload_record(struct neap_node *node, const char *id, const json_t *record);
void neap_workload_forget(struct neap_node *node, const char *id);
/* Fills in what the workload of one of neap's own groups asked for, from its record. */
void neap_workload_recall(struct neap_node *node, struct node_workload *workload);
void neap_workload_sweep(struct neap_node *node);
#endif
