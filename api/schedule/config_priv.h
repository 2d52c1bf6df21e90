/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of api/schedule/config*.c. */
#ifndef NEAP_API_SCHEDULE_CONFIG_PRIV_H
#define NEAP_API_SCHEDULE_CONFIG_PRIV_H

#include "api/schedule/config.h"
#include "engine/decide/settings.h"

#define CONFIG_PATH 256

struct config_reader {
	struct neap_schedule_config *config;
	const char *file, *text;
	size_t len;
	json_t *load, *cpus; /* cluster-wide arguments so far, owned */
};

/* Reports an error at path, followed by err->field. Returns -code. */
int config_wrong(const struct config_reader *reader, struct neap_error *err,
		 const char *path);
/* The same with a text. */
int config_refuse(const struct config_reader *reader, struct neap_error *err,
		  const char *path, const char *fmt, ...) NEAP_PRINTF(4, 5);
/* Adds a line for the log. */
int config_note(const struct config_reader *reader, struct neap_error *err,
		const char *fmt, ...) NEAP_PRINTF(3, 4);

/* Reads plugins and pluginConfig of profile number index. */
int config_read_plugins(const struct config_reader *reader, const json_t *profile,
			size_t index, struct neap_settings *settings,
			struct neap_error *err);
int config_read_args(struct config_reader *reader, const json_t *profile, size_t index,
		     struct neap_settings *settings, struct neap_error *err);

#endif
