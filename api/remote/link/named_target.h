/* SPDX-License-Identifier: Apache-2.0
 *
 * The connection target of a server that options name, such as a kubelet or Prometheus,
 * instead of a kubeconfig; without a proxy. */
#ifndef NEAP_API_REMOTE_LINK_NAMED_TARGET_H
#define NEAP_API_REMOTE_LINK_NAMED_TARGET_H

#include "api/remote/kubeconfig.h"

/* The names of the options, for messages: "--kubelet". NULL: there is no such option. */
struct neap_named_options {
	const char *url, *ca, *cert, *key, *token, *insecure;
};

/* Texts are "" when they are not given. */
struct neap_named_server {
	struct neap_named_options options;
	const char *url;    /* "https://127.0.0.1:10250" */
	const char *source; /* what names the URL; NULL: the option */
	const char *ca_file, *cert_file, *key_file, *token_file;
	bool is_insecure; /* its certificate is not checked */
};

/* Checks all of it, and reads each file once. The error's field is the option. */
int neap_named_target_new(const struct neap_named_server *named,
			  struct neap_remote_target **ret, struct neap_error *err);

#endif
