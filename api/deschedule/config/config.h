/* SPDX-License-Identifier: Apache-2.0
 *
 * The descheduler's configuration, in either form that users have: the
 * DeschedulerConfiguration of koord-descheduler or the DeschedulerPolicy of
 * sigs.k8s.io/descheduler, both of apiVersion descheduler/v1alpha2, as YAML or JSON; or a
 * ConfigMap that holds one of them. Both become one struct, immutable and reference
 * counted.
 *
 * Everything that is wrong is reported at once, with file, line, path and what would be
 * right. Which plugins there are, and what arguments they take, is the caller's table:
 * strategies are policies and can change while neapd runs. */
#ifndef NEAP_API_DESCHEDULE_CONFIG_H
#define NEAP_API_DESCHEDULE_CONFIG_H

#include <jansson.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "engine/base/selector.h"

#define NEAP_DESCHEDULE_PROFILES_MAX 16
#define NEAP_DESCHEDULE_PLUGINS_MAX  32 /* of one profile */
#define NEAP_DESCHEDULE_LINES_MAX    64

/* Extension points, in the order of a round. */
enum neap_plugin_point {
	NEAP_AT_DESCHEDULE,
	NEAP_AT_BALANCE,
	NEAP_AT_FILTER,
	NEAP_AT_BEFORE, /* preevictionfilter */
	NEAP_AT_EVICT,
	NEAP_AT_SORT,
	NEAP_AT_PRESORT,
	NEAP_AT_COUNT
};
#define NEAP_AT(point) (1U << (point))

struct neap_deschedule_plugin {
	const char *name;
	json_t *args; /* an object, without apiVersion and kind */
	bool dry_run; /* this strategy only reports what it would do */
};

struct neap_deschedule_profile {
	const char *name;
	struct neap_selector *nodes; /* NULL: all */
	/* Policies of the kinds evictor and migration that decide about its jobs, by
	 * name; NULL: those in service that no profile names. */
	const char *evictor, *migration;
	struct neap_deschedule_plugin plugins[NEAP_DESCHEDULE_PLUGINS_MAX];
	size_t plugin_count;
	/* Indexes of plugins, in order. */
	uint8_t at[NEAP_AT_COUNT][NEAP_DESCHEDULE_PLUGINS_MAX];
	size_t at_count[NEAP_AT_COUNT];
};

enum neap_deschedule_form { NEAP_DESCHEDULE_KOORDINATOR, NEAP_DESCHEDULE_UPSTREAM };

/* The time of day in which rounds may act; if begin is later than end, it ends on the
 * next day. */
struct neap_deschedule_window {
	bool is_set;
	int begin_s, end_s; /* seconds of the day */
	const char *zone;   /* "Europe/Berlin", "UTC" */
};

struct neap_deschedule_prometheus {
	const char *url, *secret_ns, *secret_name; /* url NULL: none */
};

struct neap_deschedule_config {
	uint32_t refs; /* of one thread */
	enum neap_deschedule_form form;
	struct neap_deschedule_profile profiles[NEAP_DESCHEDULE_PROFILES_MAX];
	size_t profile_count;
	int64_t interval_usec; /* 0: one round; -1: the file does not say */
	bool dry_run;
	/* -1: no limit */
	int64_t per_node, per_namespace, per_workload, total;
	struct neap_selector *nodes; /* NULL: all */
	int64_t grace_s;             /* -1: the pod's own */
	bool tells_failures;         /* evictionFailureEventNotification */
	bool has_metrics;            /* metricsProviders: KubernetesMetrics */
	struct neap_deschedule_prometheus prometheus;
	struct neap_deschedule_window window;
	const char *text; /* as it was read */
	struct neap_arena arena;
};

/* Faults and warnings, in the order of the text: "FILE:12: profiles[0].plugins: ...". */
struct neap_deschedule_lines {
	char *line[NEAP_DESCHEDULE_LINES_MAX];
	bool is_fault[NEAP_DESCHEDULE_LINES_MAX]; /* else a warning */
	size_t count, faults;                     /* faults may exceed count */
	/* The number of faults that concern missing or uploaded policies: another version
	 * of a policy may correct them without a change of the text. */
	size_t of_policies;
};

void neap_deschedule_lines_done(struct neap_deschedule_lines *lines);

/* The plugins that a configuration may name. All functions get arg. */
struct neap_deschedule_plugins {
	/* Returns the points of a plugin, as NEAP_AT bits; 0: there is no such plugin. */
	unsigned (*points)(void *arg, const char *name);
	/* Returns name number index, for "did you mean"; NULL after the last. */
	const char *(*name)(void *arg, size_t index);
	/* Returns whether that plugin is not part of neap and can change at any time;
	 * NULL: none is. */
	bool (*is_uploaded)(void *arg, const char *name);
	/* Returns whether a policy of kind evictor or migration is there; NULL: none
	 * is. */
	bool (*serves)(void *arg, const char *kind, const char *name);
	/* Checks arguments, {} when there are none. warn may be called any number of
	 * times. An error's field is the path inside the arguments. */
	int (*check)(void *arg, const char *name, const json_t *args,
		     void (*warn)(void *warn_arg, const char *field, const char *text),
		     void *warn_arg, struct neap_error *err);
	void *arg;
};

/* file: its name in messages. 0, with warnings in *lines; or -code, with the first fault
 * in *err and all of them in *lines, which the caller has set to zero and frees in either
 * case. NEAP_EINVAL, NEAP_ETOOLARGE; NEAP_ENOMEM and NEAP_EUNAVAILABLE (the machine gave
 * a policy that checks arguments too little time), which pass. */
int neap_deschedule_config_parse(const char *text, size_t len, const char *file,
				 const struct neap_deschedule_plugins *plugins,
				 struct neap_deschedule_config **ret,
				 struct neap_deschedule_lines *lines,
				 struct neap_error *err);
/* Returns whether the same text may be right when it is read again. */
bool neap_deschedule_is_passing(const struct neap_error *err);
struct neap_deschedule_config *
neap_deschedule_config_ref(struct neap_deschedule_config *config);
/* Returns NULL. Accepts NULL. */
struct neap_deschedule_config *
neap_deschedule_config_unref(struct neap_deschedule_config *config);

/* "balance"; as koordinator and upstream spell it. */
const char *neap_deschedule_point_name(enum neap_plugin_point point);

#endif
