/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of api/deschedule/config*.c. */
#ifndef NEAP_API_DESCHEDULE_CONFIG_PRIV_H
#define NEAP_API_DESCHEDULE_CONFIG_PRIV_H

#include "api/deschedule/config/config.h"

#define CONFIG_PATH 256
#define CONFIG_ROOM 1024 /* of one message */

struct config_reader {
	struct neap_deschedule_config *config;
	const struct neap_deschedule_plugins *plugins;
	struct neap_deschedule_lines *lines;
	const char *file, *text;
	size_t len;
	size_t above;    /* lines of the ConfigMap before the text */
	const char *key; /* in its data; NULL: the text is the whole file */
	bool is_short_of_memory;
	bool is_short_of_time; /* a policy that checks arguments was stopped */
};

/* --- config_lines.c --- */

/* Adds a line for the field at path ("" for the whole text). */
void deschedule_fault(struct config_reader *reader, const char *path, const char *fmt,
		      ...) NEAP_PRINTF(3, 4);
void deschedule_warn(struct config_reader *reader, const char *path, const char *fmt, ...)
	NEAP_PRINTF(3, 4);
/* A fault in that line of the text; 0: the line is not known. */
void deschedule_fault_at(struct config_reader *reader, size_t line, const char *fmt, ...)
	NEAP_PRINTF(3, 4);
/* The field of an error as a path: a["b"] is a.b. */
void deschedule_field(const struct neap_error *err, char buf[NEAP_ERROR_FIELD]);
/* The fault of an error, whose field is below path. Without memory it is noted as such.
 */
void deschedule_wrong(struct config_reader *reader, const char *path,
		      const struct neap_error *err);
/* Faults for members that are not in names; misplaced says what to do with a name, or
 * returns NULL. is_lax: unknown members that it does not know are only warned of. */
void deschedule_members(struct config_reader *reader, const json_t *json,
			const char *path, const char *const *names,
			const char *(*misplaced)(const char *name), bool is_lax);
/* Returns whether json is an object; if not, adds a fault, unless it is NULL or null. */
bool deschedule_is_object(struct config_reader *reader, const json_t *json,
			  const char *path);
/* The same for a list of at most max items. */
bool deschedule_is_list(struct config_reader *reader, const json_t *json,
			const char *path, size_t max);
/* Returns the most similar of count names; NULL: none is similar. */
const char *deschedule_nearest(const char *name, const char *const *names, size_t count);
const char *deschedule_keep(struct config_reader *reader, const char *text);

/* Readers of one member; a wrong value becomes a fault, and *ret stays. */
void deschedule_int(struct config_reader *reader, const json_t *json, const char *path,
		    const char *name, int64_t *ret);
void deschedule_bool(struct config_reader *reader, const json_t *json, const char *path,
		     const char *name, bool *ret);
void deschedule_text(struct config_reader *reader, const json_t *json, const char *path,
		     const char *name, const char **ret);
/* A duration as text. */
void deschedule_duration(struct config_reader *reader, const json_t *json,
			 const char *path, const char *name, int64_t *ret);
/* "path.name", or "name" where path is "". */
const char *deschedule_join(char *buf, size_t size, const char *path, const char *name);

/* --- config_map.c --- */

/* Continues with the configuration inside a ConfigMap: sets reader's text to *ret_text,
 * which the caller frees. False after a fault. */
bool deschedule_open_map(struct config_reader *reader, const json_t *map,
			 char **ret_text);
/* Writes a hint about the right indentation of a line that YAML refused, "" when that is
 * not the reason. above: added to the line numbers in it. */
void deschedule_indentation(const char *text, size_t len, size_t line, size_t above,
			    char *buf, size_t size);

/* --- config_misplaced.c --- */

const char *deschedule_misplaced_top(const char *name);
const char *deschedule_misplaced_profile(const char *name);
const char *deschedule_misplaced_points(const char *name);
/* For an argument that a strategy does not have. */
const char *deschedule_misplaced_arg(const char *name);
/* Adds a fault for each part of a v1alpha1 text that says what replaces it. */
void deschedule_tell_old(struct config_reader *reader, const json_t *json);

/* --- config_profiles.c --- */

#define CONFIG_EVICTOR "DefaultEvictor"

struct profile_reader {
	struct config_reader *reader;
	struct neap_deschedule_profile *profile;
	const char *path; /* "profiles[0]" */
	bool is_upstream;
	/* Where each plugin is named, for messages: path of its arguments or name. */
	char where[NEAP_DESCHEDULE_PLUGINS_MAX][CONFIG_PATH];
	bool has_args[NEAP_DESCHEDULE_PLUGINS_MAX];
};

/* Returns the points of a plugin (struct neap_deschedule_plugins). */
unsigned deschedule_points(const struct config_reader *reader, const char *name);
/* Returns whether another policy could correct what is wrong with that plugin. */
bool deschedule_is_of_policy(const struct config_reader *reader, const char *name);
/* Adds the fault of a name that no plugin has. */
void deschedule_tell_unknown(struct config_reader *reader, const char *path,
			     const char *name);
/* Returns the plugin's index in the profile; -1: there is none. */
int deschedule_find_plugin(const struct neap_deschedule_profile *profile,
			   const char *name);
/* Returns its index, adding it if missing; -1: there are too many, which is a fault. path
 * is for messages. */
int deschedule_add_plugin(struct profile_reader *of, const char *name, const char *path);
/* Returns whether plugin number index is enabled at the point. */
bool deschedule_is_at(const struct neap_deschedule_profile *profile, int point,
		      int index);
void deschedule_read_profiles(struct config_reader *reader, const json_t *json);

/* --- plugin_config.c --- */

/* Reads pluginConfig of a profile. */
void deschedule_read_args(struct profile_reader *of, const json_t *json);
/* Lets the plugins check their arguments; the points must be known. */
void deschedule_check_args(struct profile_reader *of);

#endif
