/* SPDX-License-Identifier: Apache-2.0
 *
 * What the commands `neapctl policy ...` share. Statuses are those of neapctl; what ends in one has
 * been told on stderr. */
#ifndef NEAP_API_CTL_POLICY_POLICY_PRIV_H
#define NEAP_API_CTL_POLICY_POLICY_PRIV_H

#include "api/ctl/base/client.h"
#include "api/ctl/base/ctl.h"

#define NEAP_POLICY_PATH   192
#define NEAP_POLICY_SOURCE "text/x-lua"

/* "KIND/NAME" as the path of the control API with suffix behind it; a usage error when it is none.
 * path has NEAP_POLICY_PATH bytes. */
int neap_ctl_policy_path(const char *name, const char *suffix, char *path);
/* 0, or a usage error when it is not 8 hex digits (or, with or_any, "*"). what: "--if-version". */
int neap_ctl_policy_check_version(const char *version, bool or_any, const char *what);

/* GETs a JSON of the policy: suffix as above. *ret is a new reference. */
int neap_ctl_policy_get(struct neap_client *client, const char *name, const char *suffix,
			json_t **ret);
/* The text of a version, NULL: of the one in force. Replaces what is in ret; etag (of
 * NEAP_CLIENT_ETAG bytes, may be NULL) is its version. */
int neap_ctl_policy_fetch(struct neap_client *client, const char *name,
			  const char *version, struct neap_buf *ret, char *etag);

/* A change was taken: says on stdout what it came to, as JSON if so. */
int neap_ctl_policy_print_result(struct neap_client_reply *reply,
				 enum neap_output output);
/* A change was refused: one line per problem on stderr, "FILE:LINE: what" with the file as the user
 * knows it, or what err says. With output the answer goes to stdout. */
int neap_ctl_policy_print_refusal(struct neap_client_reply *reply,
				  const struct neap_error *err, const char *file,
				  enum neap_output output);

/* Adds what recorded ticks came to. has_older: against the version in force, with differences. */
void neap_ctl_policy_add_replay(const json_t *replay, bool has_older,
				struct neap_buf *out);

/* Adds "FILE:LINE: what". message may begin with a name of the file of its own, which file, unless
 * NULL, replaces. */
void neap_ctl_policy_add_problem(const char *file, const char *name, int64_t line,
				 const char *message, struct neap_buf *out);
/* Adds a line or two about a version that runs beside the one that is live ("shadow" of a row). */
void neap_ctl_policy_add_shadow(const json_t *shadow, struct neap_buf *out);
/* Adds such a line of what was offered as this policy (a row with "refused") and did not pass. */
void neap_ctl_policy_add_refused(const json_t *policy, struct neap_buf *out);
/* A JSON value as people write it: texts without quotes. */
void neap_ctl_policy_add_value(const json_t *value, struct neap_buf *out);
/* Adds a table of the parameters: values in force by name, and their schema. */
bool neap_ctl_policy_add_params(const json_t *values, const json_t *schema,
				struct neap_buf *out);
/* Colours, "" where there are none. */
const char *neap_ctl_red(void);
const char *neap_ctl_green(void);
const char *neap_ctl_cyan(void);
const char *neap_ctl_plain(void);

#endif
