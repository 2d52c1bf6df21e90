/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the option table (config_options.c), the command line (config.c) and the
 * file reader (config_yaml.c). */
#ifndef NEAP_API_CONFIG_CONFIG_PRIV_H
#define NEAP_API_CONFIG_CONFIG_PRIV_H

#include "api/config/config.h"
#include "engine/base/buf.h"

/* Read without --config, if it exists. */
#define FILE_FALLBACK "/etc/neap/neap.yaml"

enum neap_option_type {
	NEAP_OPTION_TEXT,     /* char[size] */
	NEAP_OPTION_LISTEN,   /* char[size]: ADDR:PORT or off */
	NEAP_OPTION_GROUP,    /* char[size]: a cgroup path */
	NEAP_OPTION_CPUS,     /* char[size]: a CPU list, may be empty */
	NEAP_OPTION_DURATION, /* int64_t usec, min to max */
	NEAP_OPTION_MILLI,    /* int64_t, a quantity of CPU, min to max */
	NEAP_OPTION_BYTES,    /* int64_t, a quantity of memory, min to max */
	NEAP_OPTION_COUNT,    /* int64_t, min to max */
	NEAP_OPTION_CHOICE,   /* enum (int), index into choices */
	NEAP_OPTION_BOOL,
	NEAP_OPTION_NAME,   /* char[size]: a node name */
	NEAP_OPTION_ROLES,  /* unsigned: bits of enum neap_role */
	NEAP_OPTION_LABEL,  /* node_labels: the flag adds one; a mapping in the file */
	NEAP_OPTION_GRANT,  /* grants: the flag adds one; a list in the file */
	NEAP_OPTION_POLICY, /* policies: the flag adds one; a list in the file */
	NEAP_OPTION_APPS,   /* hostApplications: file only */
	NEAP_OPTION_ACTION, /* help, version: flag only; min is the action */
};

struct neap_option {
	const char *flag; /* without "--"; NULL: file only */
	const char *key;  /* in the file; NULL: flag only */
	enum neap_option_type type;
	size_t offset, size;  /* of the member */
	const char *metavar;  /* "ADDR:PORT" */
	const char *fallback; /* default as text, NULL none */
	int64_t min, max;
	const char *const *choices; /* NULL at the end */
	const char *doc;
	unsigned roles;   /* roles it applies to; 0: all */
	const char *with; /* the flag it requires; NULL: none */
};

/* Ended by a row of type ACTION with both names NULL. */
const struct neap_option *neap_config_options(void);
/* Parses a value. The error names the value and what is allowed, but not where it was
 * found. */
int neap_config_set(struct neap_config *config, const struct neap_option *option,
		    const char *text, struct neap_error *err);
/* "NAME[:param=value,...]" or "none". */
int neap_config_add_policy(struct neap_config *config, const char *text,
			   struct neap_error *err);
int neap_config_policy_add_param(struct neap_policy_choice *choice, const char *name,
				 const char *value, struct neap_error *err);
int neap_config_add_label(struct neap_config *config, const char *key, const char *value,
			  struct neap_error *err);
/* "a, b, c" */
void neap_config_list_choices(const char *const *choices, char *buf, size_t size);
/* "node or scheduler"; "" for none. */
void neap_config_list_roles(unsigned roles, char *buf, size_t size);
/* Records that the option was given in the file or on the command line. */
void neap_config_note_given(struct neap_config *config, const struct neap_option *option);
/* Returns the most similar name, NULL when none is similar. */
const char *neap_config_nearest(const char *text, const char *const *names, size_t count);

/* Called after everything was read: checks combinations and resolves defaults that must
 * be searched. */
int neap_config_finish(struct neap_config *config, struct neap_error *err);

int neap_config_read_file(struct neap_config *config, const char *file,
			  struct neap_error *err);

#endif
