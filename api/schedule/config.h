/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler's configuration: KubeSchedulerConfiguration of
 * kubescheduler.config.k8s.io, versions v1, v1beta3 and v1beta2, as YAML or JSON. What
 * neap does not support is refused with the field's path and line; settings without a
 * meaning here are noted. Immutable and reference counted. */
#ifndef NEAP_API_SCHEDULE_CONFIG_H
#define NEAP_API_SCHEDULE_CONFIG_H

#include "engine/base/arena.h"
#include "engine/cluster/cpus.h"

#define NEAP_SCHEDULE_PROFILES_MAX 16
#define NEAP_SCHEDULE_NOTES_MAX    32

struct neap_settings;

struct neap_schedule_profile {
	/* spec.schedulerName of its pods; NULL: the file names no profile */
	const char *name;
	struct neap_settings *settings;
};

struct neap_schedule_config {
	uint32_t refs; /* of one thread */
	/* At least one. */
	struct neap_schedule_profile profiles[NEAP_SCHEDULE_PROFILES_MAX];
	size_t profile_count;
	int64_t pause_usec, pause_max_usec; /* retry pauses of unschedulable pods */
	/* LoadAwareScheduling and NodeNUMAResource, for the whole cluster. */
	bool has_load, has_cpus;
	struct neap_load_args load;
	struct neap_cpus_args cpus;
	const char *text;                           /* of the file */
	const char *notes[NEAP_SCHEDULE_NOTES_MAX]; /* lines for the log */
	size_t note_count;
	struct neap_arena arena;
};

/* file: its name in errors. NEAP_EINVAL ("FILE:12: profiles[0].plugins.score: ..."),
 * NEAP_ETOOLARGE, NEAP_ENOMEM. */
int neap_schedule_config_parse(const char *text, size_t len, const char *file,
			       struct neap_schedule_config **ret, struct neap_error *err);
struct neap_schedule_config *
neap_schedule_config_ref(struct neap_schedule_config *config);
/* Returns NULL. Accepts NULL. */
struct neap_schedule_config *
neap_schedule_config_unref(struct neap_schedule_config *config);

#endif
