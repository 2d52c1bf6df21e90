/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files that read kubeconfigs. */
#ifndef NEAP_API_REMOTE_KUBECONFIG_PRIV_H
#define NEAP_API_REMOTE_KUBECONFIG_PRIV_H

#include "api/remote/kubeconfig.h"
#include "engine/base/buf.h"

#define REMOTE_FIELD 160 /* bytes of a field's path */

/* A kubeconfig. */
struct remote_file {
	char *path;
	struct neap_buf text;
	json_t *root; /* an object */
};

/* One cluster, user or context. */
struct remote_entry {
	const struct remote_file *file;
	const json_t *value; /* an object, or NULL when it is missing */
	char path[48];       /* "clusters[2].cluster" */
};

typedef const char *remote_getenv_fn(const char *name);

/* Fills err with "FILE:12: PATH.NAME: text", and its field. name "": the path itself. */
int remote_wrong(const struct remote_entry *entry, const char *name, enum neap_code code,
		 struct neap_error *err, const char *fmt, ...) NEAP_PRINTF(5, 6);
/* A copy of a text; NULL where it is missing, null or "". */
int remote_text(const struct remote_entry *entry, const char *name, char **ret,
		struct neap_error *err);
/* The same of a file's name, relative to the folder of the kubeconfig. */
int remote_path(const struct remote_entry *entry, const char *name, char **ret,
		struct neap_error *err);
int remote_bool(const struct remote_entry *entry, const char *name, bool *ret,
		struct neap_error *err);

/* Fill what the selected entries say, checked. */
int remote_cluster_read(const struct remote_entry *entry, struct neap_remote_target *to,
			struct neap_error *err);
int remote_user_read(const struct remote_entry *entry, struct neap_remote_target *to,
		     struct neap_error *err);

/* --- certificates and keys --- */

/* Base64 of the standard alphabet with padding; line ends are skipped. The caller frees
 * the text, which ends with NUL. NEAP_EINVAL, NEAP_ENOMEM. */
int remote_base64(const char *text, char **ret, size_t *ret_len, struct neap_error *err);

/* --- URLs --- */

struct remote_url {
	char *host; /* without brackets */
	int port;   /* of the scheme where none is given */
	bool is_https;
};

#define NEAP_REMOTE_SERVER_SCHEMES "https http"
#define NEAP_REMOTE_PROXY_SCHEMES  "https http socks5"
/* NULL when it is a URL of one of these schemes, else what is wrong. ret may be NULL; the
 * caller frees its host. */
const char *remote_url_check(const char *url, const char *schemes,
			     struct remote_url *ret);
/* The proxy that the environment names for this server, NULL without one. */
int remote_proxy_find(remote_getenv_fn *env, const struct remote_url *server, char **ret,
		      struct neap_error *err);

#endif
