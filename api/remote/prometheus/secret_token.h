/* SPDX-License-Identifier: Apache-2.0
 *
 * The token for a Prometheus that a DeschedulerPolicy keeps in a Secret of the cluster,
 * under the key prometheusAuthToken. */
#ifndef NEAP_API_REMOTE_PROMETHEUS_SECRET_TOKEN_H
#define NEAP_API_REMOTE_PROMETHEUS_SECRET_TOKEN_H

#include "api/remote/transport.h"

/* Reads the token out of the answer of a kube-apiserver to GET of the Secret. *ret is
 * from malloc and not empty. -NEAP_EUNAVAILABLE: the server gives none, and says why;
 * -NEAP_EINVAL: the Secret has none; -NEAP_ENOMEM. */
int neap_secret_token_read(const struct neap_transport_answer *answer, char **ret,
			   struct neap_error *err);

#endif
