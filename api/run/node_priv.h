/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared inside api/run only. A tick goes through struct node_observe (find.c: which
 * workloads there are; observe.c: readings to sample; names.c), struct node_plan
 * (wishes.c: what policies wish and base values to one plan; pins.c: CPUs that were given
 * out) and struct node_write (writes.c: plan to hand, answers to audit; hand_notes.c:
 * what the hand is told before that; trouble.c: what is told of refusals). What joins
 * them takes the struct neap_node: node.c (life and tick), ask.c (policies), react.c and
 * triggers.c (pressure events between ticks), kubelet.c (its files), groups.c (neap's own
 * groups come and go), launch.c (those of `neapctl run`), pods.c and pods_spec.c (those
 * of pods), records.c (what is remembered of both), report.c (JSON). */
#ifndef NEAP_API_RUN_NODE_PRIV_H
#define NEAP_API_RUN_NODE_PRIV_H

#include "api/run/node.h"
#include "engine/base/buf.h"
#include "engine/base/map.h"
#include "engine/machine/window.h"
#include "engine/numa/kubelet_facts.h"
#include "hw/readings.h"

#define AUDIT_ENTRIES 2048
/* What changes slowly or costs the kernel much (memory.stat more than all other files of
 * a group together) is read in every tenth tick, groups in turn: memory.stat, pressure of
 * memory and I/O, and limits that neap did not write itself just now. */
#define SLOW_EVERY 10
/* Ticks in which a new container is asked for its first process each time. */
#define UNSETTLED_LOOKS 20

/* A cgroup directory that neap looks at: a tree's root and class directories, pods,
 * containers, host applications. Kept in node->groups by its path. A tick comes to each
 * when the kernel's reads have taken it out of the CPU's caches, so what every tick needs
 * lies together, on few pages. */
struct node_group {
	struct neap_group *files;
	unsigned parts;
	unsigned turn; /* what is slow is read when ticks % SLOW_EVERY is this */
	bool has_now, has_before;
	/* A container in which a process was seen: whoever made the group has set it
	 * up. */
	bool is_settled;
	bool is_birth_noted; /* what it was made with was looked at */
	uint64_t born, seen; /* ticks of the first and the last look at it */
	struct neap_reading now, before;
	const char *dir; /* of files */
};

/* A pod, a run or a host application, kept from tick to tick; what policies see of it
 * lies in node->views, in the same order. */
struct node_workload {
	struct node_group *group;
	struct node_group **containers;
	size_t container_count;
	struct neap_window *used;
	double used_p50_cores, used_p90_cores,
		used_p99_cores;           /* as of its last slow turn */
	const struct neap_workload *view; /* that holds its names, NULL when none does */
	const char *source;
	enum neap_qos qos;
	enum neap_kube_qos kube_qos;
	bool is_host_app, is_own;
	bool is_settled; /* one of its containers is */
	/* tick: until then one of its containers is asked every time */
	uint64_t young_until;
	bool is_named;       /* of a pod: name is NAMESPACE/NAME */
	bool is_run, is_pod; /* which of both, where neap made it and knows */
	/* What `neapctl run` or the pod asked for; missing where it did not. */
	int64_t cpu_request_milli, cpu_limit_milli, memory_limit_bytes;
	bool is_removing;
	int64_t processes;
	/* of the pod when it was last asked for first processes */
	int64_t asked_usage_usec;
	int64_t max_milli;
	uint64_t seen;
	char id[128], name[128];
	struct neap_cpuset cpus; /* in force, as last read */
};

/* A (group, key) whose value neap changed, by "group\nkey" in node->kept. */
struct node_kept {
	char group[NEAP_PATH_MAX];
	enum neap_key key;
	char *found; /* kernel text before neap's first write */
	/* before the last write that changed it; of CPU sets only, or NULL */
	char *previous;
	char policy[64];
	char why[160];
	uint64_t wished_tick; /* the last tick in which somebody wanted it */
	bool is_restore_due;  /* the hand is to be asked to put it back and forget it */
	bool is_restoring;    /* it was asked */
	/* What the hand knows as the group's own, "": nothing; and the last tick in which
	 * it had some. */
	char own[32];
	uint64_t own_tick;
	/* an earlier neapd set it, and nobody has asked for it since */
	bool is_taken_over;
};

enum node_state { NODE_ACTING, NODE_WATCHING, NODE_DRY_RUN, NODE_RELEASED };

/* kubelet.c: its files as they were read last. */
struct node_kubelet {
	json_t *state;                   /* NULL: not there */
	struct neap_kubelet_facts facts; /* of the state alone */
	/* CPUs that it gave to pods, for the plan at hand. Those that a scheduler named
	 * are not its own. */
	struct neap_cpuset given;
	struct neap_buf config;
	bool has_config;
	int asked;                 /* answers of the hand that are awaited */
	struct neap_error trouble; /* of the look at hand or the last one; code 0: none */
	bool is_wrong;             /* and that is told */
	bool is_known; /* looked at: what it gave away counts in the first plan */
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
	bool is_arg_owned;          /* to be freed if no answer ever comes */
	void (*dropped)(void *arg); /* told before that; may be NULL */
};

/* MADE: an ordinary plan is to write their values. WRITING: it was sent. */
enum launch_step { LAUNCH_MAKING, LAUNCH_MADE, LAUNCH_WRITING, LAUNCH_READY };

/* Groups that come into being: in node->launches until neap_launch_end. Part of a larger
 * struct that the launch does not outlive. */
struct node_launch {
	enum launch_step step;
	char id[128]; /* of the workload */
	char dir[NEAP_PATH_MAX];
	size_t container_count;
	size_t unmade;  /* answers that the hand owes */
	bool is_strict; /* fails when one of its own values is refused */
	bool is_pod; /* the hand gives its groups back only when nothing runs in them */
	struct neap_error err;
	/* Once: all is done, or err tells why not. The launch is then in the map
	 * still. */
	void (*ready)(struct neap_node *node, struct node_launch *launch);
	void (*drop)(struct node_launch *launch); /* the node ends; may be NULL */
};

#define NODE_REACTIONS_KEPT 256
/* Times go from the wake-up by a trigger to the hand's answer to the last write. */
struct node_reactions {
	uint64_t count, written; /* written: those that led to a write */
	int64_t last_usec, max_usec;
	int32_t recent_usec[NODE_REACTIONS_KEPT]; /* a ring, by written */
};

/* See trouble.c. Times are of the monotonic clock, 0: none. */
struct node_trouble {
	uint64_t plans;     /* begun */
	bool is_on;         /* some write was refused, and its end is not told */
	int64_t since_usec; /* of the first line of this span */
	int errnum;         /* that those lines are about */
	unsigned told;      /* lines in this span */
	size_t untold;      /* refusals beside them */
	bool is_summed;     /* the number of those was told in this span */
	bool is_end_told;   /* and the end of all */
	/* when a tick first saw the hand owe an answer; it gave none since */
	int64_t asked_usec;
	bool is_silent; /* that it gives none was told */
};

struct neap_triggers;

struct node_made;
struct node_pins;

/* Who has which CPUs, by the kubelet's files and by what was told (pins.c, kubelet.c). */
struct node_given {
	char kubelet_cpu_policy[32]; /* "none" or "static" */
	struct node_kubelet kubelet;
	struct node_pins *pins; /* NULL: nothing was told of CPUs given out */
};

/* What there is: machine, groups, workloads, and the sample that policies see. A look
 * fills it; it knows nothing of plans and writes. */
struct node_observe {
	const struct neap_node_config *config;
	struct neap_cgroup *cgroup;
	const struct node_given *given;
	/* A workload in a group of neap's own came: fills what it asked for. */
	void (*came)(struct neap_node *node, struct node_workload *workload);
	struct neap_node *node; /* for came alone */

	struct neap_topology *topology;
	int64_t memory_bytes;   /* of the machine; NEAP_MISSING: it cannot be read */
	bool is_topology_young; /* CPUs came or went at the last look */
	struct neap_readings *readings;
	struct neap_scan *scan;
	uint64_t groups_made;
	bool has_found;             /* workloads are those of the last look */
	uint64_t found_tick;        /* the last tick in which some came or went */
	struct neap_map *groups;    /* dir -> struct node_group */
	struct neap_map *workloads; /* group dir -> struct node_workload */

	uint64_t ticks; /* looks: ticks and reactions */
	int64_t started_mono_usec;
	int64_t mono_usec, mono_before_usec;
	int64_t unix_usec;
	bool has_written;    /* limits in force may be others than at the last look */
	bool is_reaction;    /* while a reaction looks */
	bool was_reaction;   /* the last look was one: before is still the last tick's */
	int64_t looked_usec; /* of the sample */

	struct neap_sample sample;
	struct neap_workload *views;
	size_t view_size;
	uint64_t texts_mark; /* the last one given to a view */
	struct neap_node_reading reading, reading_before;
	bool has_reading;
	struct neap_window *node_used;
};

/* What is wanted: made of the look and of what policies hold. */
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
	bool is_released;   /* nothing is wanted but what was there before */
	bool is_given_back; /* and the hand has done it */
};

/* What was asked of the hand, and what became of it. */
struct node_write {
	const struct neap_node_config *config;
	struct neap_cgroup *cgroup;
	struct node_plan *plan;
	struct neap_hand *hand;
	struct neap_audit *audit;

	struct node_pending *pending;
	size_t pending_count, pending_size;
	size_t plan_inflight; /* writes of the last plan not answered yet */
	uint64_t next_id;
	bool wants_write;
	uint64_t last_dry_hash;    /* a dry run tells each plan once */
	struct neap_map *failures; /* group and key -> what the last plan was refused */
	struct node_trouble trouble;
	uint64_t writes,
		writes_refused; /* answers of the hand; a vanished group is neither */
	uint64_t late_plans;    /* ticks without a plan because the hand was still busy */
};

/* Groups of neap's own, which come and go with what runs in them. */
struct node_made {
	struct neap_map *launches; /* pod dir -> struct node_launch */
	struct neap_map *pods;     /* uid -> struct node_pod */
	bool is_pids_told, are_records_swept;
};

/* Between two ticks. */
struct node_react {
	struct neap_triggers *triggers; /* NULL without a loop to watch them */
	struct node_reactions reactions;
	bool is_plan_owed;  /* the hand was busy when a reaction wanted to write */
	int64_t paced_usec; /* when reactions evenly spaced would have got to the next one
			     */
	int64_t waked_usec; /* of the reaction whose writes are not all answered, 0: none
			     */
};

/* A tick goes from the look to the plan to the writes; each reads what is before it and
 * changes nothing there, but that a write tells the look (has_written) and the plan (what
 * is kept) what it did. */
struct neap_node {
	struct neap_node_config config;
	struct neap_cgroup *cgroup;
	struct neap_registry *registry;
	enum node_state state;
	bool is_frozen;
	bool is_open; /* the hand has made our groups and told its journal */
	struct neap_error open_err; /* why it could not */
	size_t ask_first; /* slot that the next tick asks first: it was put off */
	double tick_cpu_avg_usec;

	struct node_given given;
	struct node_observe observe;
	struct node_plan plan;
	struct node_write write;
	struct node_made made;
	struct node_react react;
};

/* find.c */
/* Looks for workloads; node->workloads are those that are there. */
int neap_find_workloads(struct node_observe *observe, struct neap_error *err);
void neap_workload_free(struct node_workload *workload);
/* observe.c */
int neap_observe(struct node_observe *observe, struct neap_error *err);
struct node_group *neap_node_group(struct node_observe *observe, const char *dir,
				   unsigned parts);
/* The present value of a file, through the descriptor that looks keep, or one kept from
 * now on. arg is the struct node_observe. */
int neap_observe_read_key(void *arg, const char *dir, enum neap_key key,
			  struct neap_value *ret, struct neap_error *err);
int neap_observe_topology(struct node_observe *observe, struct neap_error *err);
/* react.c */
int neap_react_open(struct neap_node *node, struct neap_error *err);
void neap_react_sync(struct neap_node *node);
void neap_react_written(struct neap_node *node);
void neap_react_report(const struct neap_node *node, json_t *out);
/* wishes.c */
void neap_ask_policies(struct neap_node *node);
/* The one of this registry slot. left_usec: of the cycle's budget. False when it was put
 * off for want of that. */
bool neap_ask_policy(struct neap_node *node, size_t index, int64_t *left_usec);
/* The version beside it, after it was asked itself. */
void neap_ask_shadow(struct neap_node *node, size_t index, int64_t *left_usec);
void neap_gather_wishes(struct node_plan *plan);
/* CPU time of building the plan, onto the policies whose wishes it is made of. */
void neap_charge_plan(struct node_plan *plan, int64_t cpu_usec);
/* A base value of neap's own. */
void neap_wish_number(struct node_plan *plan, const char *group, enum neap_key key,
		      int64_t number, const char *why);
/* CPUs that were given out: what policies wish for the same file was cut to them. */
void neap_wish_cpus(struct node_plan *plan, const char *group,
		    const struct neap_cpuset *cpus, const char *why);
void neap_wish_besteffort_cpus(struct node_plan *plan, const struct neap_cpuset *cpus,
			       const char *why);
/* writes.c */
/* False when no plan could be made or not all of it sent. */
bool neap_plan_and_write(struct neap_node *node);
/* Whether there is a hand that writes. Without one, and in a dry run, neap only
 * watches. */
bool neap_node_writes(const struct node_write *write);
/* In a dry run for NEAP_HAND_KUBELET alone. */
int neap_node_send(struct node_write *write, const struct neap_hand_request *request,
		   const struct node_pending *pending, struct neap_error *err);
void neap_node_flush(struct node_write *write);
void neap_node_note(struct node_write *write, const char *what, const char *group,
		    const char *policy, const char *why, int errnum);
struct node_kept *neap_kept_find(const struct node_plan *plan, const char *group,
				 enum neap_key key);
/* Notes what was found at first, unless that is known. False without memory. */
bool neap_kept_note(struct node_plan *plan, const char *group, enum neap_key key,
		    const char *found);
/* The hand's answer to a write into audit, counts and log. */
void neap_audit_write(struct node_write *write, const struct node_pending *pending,
		      const struct neap_hand_answer *answer, const char *what);
void neap_kept_drop(struct node_plan *plan, const char *group, enum neap_key key);
void neap_kept_clear(struct node_plan *plan);
/* What an earlier neapd set stays still. */
bool neap_observe_is_settling(const struct node_observe *observe);
/* hand_notes.c */
/* Whether the group is below neap's own. */
bool neap_node_is_own(const struct neap_node_config *config, const char *group);
/* Tells the hand what groups have by themselves where that is another than it knows.
 * Before the writes of a plan are sent. */
int neap_own_tell(struct node_write *write, struct neap_error *err);
void neap_own_answered(struct node_write *write, const struct node_pending *pending,
		       const struct neap_hand_answer *answer);
/* kubelet.c */
void neap_kubelet_open(struct neap_node *node);
void neap_kubelet_tick(struct neap_node *node);
void neap_kubelet_close(struct neap_node *node);
/* names.c */
/* Names of pods that came; at each look, once they are found. */
void neap_names_look(struct node_observe *observe);
/* "shop/web" of the pod that the group is, or is a container of; "" for all others. */
void neap_names_pod(const struct node_plan *plan, const char *group, char *buf,
		    size_t size);
/* What a group that was made while its parent was narrowed should get back one day: what
 * the parent had at first, and what it has now. NULL: it was not; the hand notes what it
 * finds. */
const char *neap_inherited_found(struct node_write *write, const char *dir,
				 enum neap_key key, struct neap_value *ret_own);
/* Has the hand note groups that were made so since the last look. Before a plan is sent.
 */
void neap_inherit_look(struct node_write *write);
/* trouble.c */
/* Notes a refusal; whether it is another one than that of the plan before. */
bool neap_trouble_is_new(struct node_write *write, const struct node_pending *pending,
			 int errnum);
/* Whether one more line may be written now about a refusal; else it is counted. */
bool neap_trouble_may_tell(struct node_write *write, int errnum);
void neap_trouble_plan_start(struct node_write *write);
void neap_trouble_plan_end(struct node_write *write);
/* At each tick. */
void neap_trouble_look(struct node_write *write);
/* The hand has answered something. */
void neap_trouble_answered(struct node_write *write);
/* groups.c */
#define NEAP_LAUNCH_RELEASED                                                             \
	"neapd has given everything back: 'neapctl resume' lets it write again"
/* Whether groups may be made at all now. */
int neap_launch_check(const struct neap_node *node, struct neap_error *err);
bool neap_launch_has_id(const struct neap_node *node, const char *id);
/* With ready, dir and id set. Containers are names of directories; none: the pod's own
 * group alone. On an error nothing is under way; else ready is called, never before this
 * returns. */
int neap_launch_start(struct neap_node *node, struct node_launch *launch,
		      const char *const *containers, size_t count,
		      struct neap_error *err);
bool neap_launch_is_active(const struct neap_node *node,
			   const struct node_launch *launch);
void neap_launch_end(struct neap_node *node, const struct node_launch *launch);
void neap_launch_error(struct neap_error *err, const char *what, const char *dir,
		       const struct neap_hand_answer *answer);
/* A write was refused. */
void neap_launch_refused(struct neap_node *node, const struct node_pending *pending,
			 const struct neap_hand_answer *answer);
/* The next step of all of them, as far as one can be made. */
void neap_launch_go(struct neap_node *node);
void neap_launch_free(struct neap_node *node);
/* 0 when the hand was asked to remove it; then answered, which may be NULL, is called
 * with arg. */
int neap_group_drop(struct neap_node *node, const char *dir,
		    void (*answered)(struct neap_node *, void *,
				     const struct neap_hand_answer *),
		    void *arg, bool is_arg_owned);
/* launch.c */
void neap_launch_collect(struct neap_node *node);
/* pods.c */
/* Base values of the pod's containers. */
void neap_pod_wish(struct node_plan *plan, const struct node_workload *workload);
/* Groups of pods that are to go. */
void neap_pods_collect(struct neap_node *node);
void neap_pods_free(struct neap_node *node);
/* pins.c */
void neap_node_pins_free(struct node_given *given);
/* What is shared now; before a plan. */
void neap_node_pins_look(struct node_given *given, struct neap_topology *topology);
void neap_node_pins_wish(struct node_plan *plan);
bool neap_node_pins_has_own(const struct node_given *given,
			    const struct node_workload *workload);
/* Its CPUs are none of its class directory's business. */
bool neap_node_pins_is_apart(const struct node_given *given,
			     const struct node_workload *workload);
/* Adds the CPUs of those below the directory; false: there are none. */
bool neap_node_pins_add_below(const struct node_plan *plan, const char *dir,
			      struct neap_cpuset *cpus);
/* What a policy wishes for, cut to what the workload, or those of the class, may have:
 * never a CPU that a kubelet gave to a pod, whoever knows of that pod. False: nothing is
 * left, or the kubelet alone says what the workload has. */
bool neap_node_pins_cut(const struct node_plan *plan,
			const struct node_workload *workload, struct neap_cpuset *cpus);
bool neap_node_pins_cut_class(const struct node_plan *plan, enum neap_kube_qos qos,
			      struct neap_cpuset *cpus);
/* What the group had at first, without CPUs that a kubelet has given to a pod since.
 * False: nothing is left. */
bool neap_node_pins_cut_back(const struct node_plan *plan, const char *dir,
			     struct neap_cpuset *cpus);
/* Whether directories of classes and pods of that tree may be narrowed. */
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
/* Whose group of neap's own this is, and what it asked for. */
void neap_workload_recall(struct neap_node *node, struct node_workload *workload);
void neap_workload_sweep(struct neap_node *node);
#endif
