/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds a kube-apiserver and the credentials for it, as programs of Kubernetes do: the
 * file that is named, else the files of KUBECONFIG, else the service account of the pod,
 * else ~/.kube/config. Read once at the start, before root is given up; the files of
 * credentials that are named here are read again by the dialer's reader. */
#ifndef NEAP_API_REMOTE_KUBECONFIG_H
#define NEAP_API_REMOTE_KUBECONFIG_H

#include <jansson.h>
#include <stdint.h>

#include "engine/base/error.h"

/* Texts are NULL when they are not given. File names are absolute. */
struct neap_remote_target {
	char *server;          /* "https://host:6443/path", without a slash at the end */
	char *tls_server_name; /* instead of the URL's host */
	bool is_insecure;      /* the server's certificate is not checked */
	bool has_no_compression;
	/* Of ca, cert and key at most one of file and data is set; data is PEM. Without a
	 * CA the system's roots count. cert and key come together. */
	char *ca_file, *ca_data;
	char *cert_file, *cert_data;
	char *key_file, *key_data;
	/* At most one of these; a token in the file has blanks around it. */
	char *token, *token_file;
	char *username, *password;
	char *proxy_url; /* http, https or socks5; NULL: connect directly */
	/* Where to connect: to the proxy, else to the server. Without brackets. */
	char *dial_host;
	uint16_t dial_port;
	char *ns; /* namespace of the context, or of the pod */
	/* Impersonation. as_groups ends with NULL; as_extra: name to list of texts. */
	char *as, *as_uid;
	char **as_groups;
	json_t *as_extra;
	char *source; /* for messages: "FILE, context NAME" */
};

struct neap_remote_source {
	const char *file;                        /* NULL: by the environment */
	const char *context;                     /* NULL: current-context */
	const char *(*getenv)(const char *name); /* NULL: the process's */
	/* NULL: /var/run/secrets/kubernetes.io/serviceaccount */
	const char *account_dir;
};

/* Errors name the file, the line where it is known, the field with its path
 * ("clusters[2].cluster.server", also in err->field), and what would be right.
 * NEAP_ENOTFOUND: nothing names a server, or a file, context, cluster or user does not
 * exist; NEAP_EUNSUPPORTED: the user's credentials come from a program (exec,
 * auth-provider); NEAP_EINVAL, NEAP_ETOOLARGE, NEAP_ESYS, NEAP_ENOMEM. */
int neap_remote_target_load(const struct neap_remote_source *source,
			    struct neap_remote_target **ret, struct neap_error *err);
void neap_remote_target_free(struct neap_remote_target *target);
/* Headers of each request that say for whom it is: "Impersonate-User: name".
 * NULL-terminated, empty without impersonation; NULL without memory. */
char **neap_remote_target_headers(const struct neap_remote_target *target);
/* NULL is fine. */
void neap_remote_target_headers_free(char **headers);

/* Checks that there is at least one certificate, and none is broken. Returns NULL, or
 * what is wrong. */
const char *neap_remote_certs_check(const char *pem, size_t len);
/* Checks that both parse, and that the key belongs to the first certificate. Returns the
 * same. */
const char *neap_remote_pair_check(const char *cert, size_t cert_len, const char *key,
				   size_t key_len);

#endif
