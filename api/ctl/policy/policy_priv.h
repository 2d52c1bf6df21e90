/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the commands `neapctl policy ...`. They return exit statuses of neapctl;
 * failures have been printed on stderr. */
#ifndef NEAP_API_CTL_POLICY_POLICY_PRIV_H
#define NEAP_API_CTL_POLICY_POLICY_PRIV_H

#include "api/ctl/base/client.h"
#include "api/ctl/base/ctl.h"

#define NEAP_POLICY_PATH   192
#define NEAP_POLICY_SOURCE "text/x-lua"

/* Writes the control API path of "KIND/NAME" plus suffix; a usage error for other forms.
 * path has NEAP_POLICY_PATH bytes. */
int neap_ctl_policy_path(const char *name, const char *suffix, char *path);
/* Returns 0, or a usage error when version is not 8 hex digits (or, with or_any, "*").
 * what: "--if-version". */
int neap_ctl_policy_check_version(const char *version, bool or_any, const char *what);

/* GETs JSON of the policy and prints it, as neap_ctl_show does. */
int neap_ctl_policy_show(struct neap_ctl *ctl, const char *name, const char *suffix,
			 void (*add)(const json_t *reply, const void *arg,
				     struct neap_buf *out),
			 const void *arg);
/* GETs JSON of the policy: suffix as above. *ret is a new reference. */
int neap_ctl_policy_get(struct neap_client *client, const char *name, const char *suffix,
			json_t **ret);
/* Fetches the text of a version (NULL: the live one) into ret, replacing its content;
 * etag (NEAP_CLIENT_ETAG bytes, may be NULL) receives its version. */
int neap_ctl_policy_fetch(struct neap_client *client, const char *name,
			  const char *version, struct neap_buf *ret, char *etag);

/* Prints the result of an accepted change on stdout, as JSON if requested. */
int neap_ctl_policy_print_result(struct neap_client_reply *reply,
				 enum neap_output output);
/* Prints a refused change: one line per problem on stderr, "FILE:LINE: what" with the
 * user's file name, or err. With output the answer goes to stdout. */
int neap_ctl_policy_print_refusal(struct neap_client_reply *reply,
				  const struct neap_error *err, const char *file,
				  enum neap_output output);

/* Appends the result of the replay on recorded ticks. has_older: with differences from
 * the live version. */
void neap_ctl_policy_add_replay(const json_t *replay, bool has_older,
				struct neap_buf *out);

/* Appends "FILE:LINE: what". If message starts with a file name of its own, file (unless
 * NULL) replaces it. */
void neap_ctl_policy_add_problem(const char *file, const char *name, int64_t line,
				 const char *message, struct neap_buf *out);
/* Appends a line or two about a shadow version ("shadow" of a row). */
void neap_ctl_policy_add_shadow(const json_t *shadow, struct neap_buf *out);
/* Appends such a line about a version that was uploaded and refused (a row with
 * "refused"). */
void neap_ctl_policy_add_refused(const json_t *policy, struct neap_buf *out);
/* Appends a JSON value as people write it: texts without quotes. */
void neap_ctl_policy_add_value(const json_t *value, struct neap_buf *out);
/* Appends a table of the parameters: values in force by name, and their schema. */
void neap_ctl_policy_add_params(const json_t *values, const json_t *schema,
				struct neap_buf *out);
/* Terminal colours, "" without colours. */
const char *neap_ctl_red(void);
const char *neap_ctl_green(void);
const char *neap_ctl_cyan(void);
const char *neap_ctl_plain(void);

#endif
