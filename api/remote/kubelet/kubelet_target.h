/* SPDX-License-Identifier: Apache-2.0
 *
 * The connection target for a kubelet, from options instead of a kubeconfig; without a
 * proxy. */
#ifndef NEAP_API_REMOTE_KUBELET_KUBELET_TARGET_H
#define NEAP_API_REMOTE_KUBELET_KUBELET_TARGET_H

#include "api/remote/kubeconfig.h"

/* Texts are "" when they are not given. */
struct neap_kubelet_named {
	const char *url; /* "https://127.0.0.1:10250" */
	const char *ca_file, *cert_file, *key_file, *token_file;
	bool is_insecure; /* its certificate is not checked */
};

/* Checks all of it, and reads each file once. The error's field is the option. */
int neap_kubelet_target_new(const struct neap_kubelet_named *named,
			    struct neap_remote_target **ret, struct neap_error *err);

#endif
