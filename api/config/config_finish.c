/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks that need all options: combinations, and defaults that depend on others. */
#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/config/config_priv.h"
#include "api/http/server.h"
#include "engine/base/mem.h"

/* The host's name as a node name: kubelets do it like this. */
static int find_node_name(struct neap_config *config, struct neap_error *err)
{
	char host[sizeof(config->node_name)] = "";
	const struct neap_option *option = neap_config_options();
	size_t i;

	if (gethostname(host, sizeof(host) - 1) < 0)
		return neap_error_sys(err, "--node-name: the host's name");
	for (i = 0; host[i] != '\0'; i++)
		host[i] = (char)tolower((unsigned char)host[i]);
	while (option->offset != offsetof(struct neap_config, node_name))
		option++;
	if (neap_config_set(config, option, host, err) < 0)
		return neap_error_wrap(err, "--node-name: the host's name");
	return 0;
}

/* Which of the TLS options goes with which, and that nothing leaves the machine unless it
 * is encrypted or asked for. */
static int check_tls(const struct neap_config *config, struct neap_error *err)
{
	bool has_tls = *config->tls_cert != '\0';

	if (has_tls != (*config->tls_key != '\0'))
		return neap_error_set(err, NEAP_EINVAL,
				      "--tls-%s needs --tls-%s FILE too",
				      has_tls ? "cert" : "key", has_tls ? "key" : "cert");
	if (*config->tls_client_ca && !has_tls)
		return neap_error_set(err, NEAP_EINVAL,
				      "--tls-client-ca needs --tls-cert and --tls-key");
	if (neap_grants_need_users(&config->grants) && !*config->tls_client_ca &&
	    !*config->token_file)
		return neap_error_set(
			err, NEAP_EINVAL,
			"--grant for a user or a group needs --tls-client-ca "
			"or --token-file: without them no client has a user name");
	if (has_tls || config->insecure_listen || !neap_config_has_tcp(config) ||
	    neap_http_listen_is_local(config->listen))
		return 0;
	return neap_error_set(err, NEAP_EFORBIDDEN,
			      "--listen %s: other machines reach it, and without TLS the "
			      "token could be read on the way: give --tls-cert and "
			      "--tls-key, or --insecure-listen to allow it",
			      config->listen);
}

bool neap_config_has_tcp(const struct neap_config *config)
{
	const struct neap_option *option = neap_config_options();

	while (option->offset != offsetof(struct neap_config, listen))
		option++;
	return strcmp(config->listen, "off") != 0 &&
	       ((config->roles & NEAP_ROLE_API) != 0 ||
		config->is_given[option - neap_config_options()]);
}

/* The second address has its default from the first. */
static int finish_tls_listen(struct neap_config *config, struct neap_error *err)
{
	const char *colon = strrchr(config->listen, ':');
	long port = colon ? strtol(colon + 1, NULL, 10) : 0;

	config->has_tls_listen = *config->tls_listen != '\0';
	if (config->has_tls_listen) {
		if (*config->tls_cert && strcmp(config->tls_listen, "off") != 0)
			return neap_error_set(err, NEAP_EINVAL,
					      "--tls-listen: with --tls-cert it is "
					      "--listen that speaks TLS; leave one out");
		return 0;
	}
	if ((config->roles & NEAP_ROLE_API) == 0 || strcmp(config->listen, "off") == 0 ||
	    *config->tls_cert || port == 65535) {
		(void)neap_strcopy(config->tls_listen, sizeof(config->tls_listen), "off");
		return 0;
	}
	(void)snprintf(config->tls_listen, sizeof(config->tls_listen), "%.*s:%ld",
		       (int)(colon - config->listen), config->listen,
		       port ? port + 1 : 0);
	return 0;
}

/* Roles that work on objects use the objects of this neapd. */
static int check_roles(const struct neap_config *config, struct neap_error *err)
{
	bool has_api = (config->roles & NEAP_ROLE_API) != 0;

	if (!has_api && (config->roles & NEAP_ROLE_CONTROLLERS) != 0)
		return neap_error_set(
			err, NEAP_EINVAL,
			"--roles: the controllers work on the objects of this neapd: name api, too; a cluster has its kube-controller-manager");
	if (has_api && *config->kubeconfig)
		return neap_error_set(
			err, NEAP_EINVAL,
			"--kubeconfig: with the role api neapd works on its own objects: "
			"name the others, as in --roles scheduler");
	if (!has_api && (config->roles & NEAP_ROLE_SCHEDULER) != 0 &&
	    !*config->kubeconfig)
		return neap_error_set(
			err, NEAP_EINVAL,
			"--roles: the scheduler works on objects: name api, too, for "
			"those of this neapd, or --kubeconfig FILE for a cluster's");
	if (*config->kubelet && (has_api || *config->kubeconfig))
		return neap_error_set(
			err, NEAP_EINVAL,
			"--kubelet: the pods of this node come from %s: name --roles "
			"node without it",
			has_api ? "the role api" : "--kubeconfig");
	if (!has_api && (config->roles & NEAP_ROLE_DESCHEDULER) != 0 &&
	    !*config->kubeconfig)
		return neap_error_set(
			err, NEAP_EINVAL,
			"--roles: the descheduler works on objects: name api, too, for "
			"those of this neapd, or --kubeconfig FILE for a cluster's");
	if (*config->kubeconfig && config->leader_elect &&
	    (config->roles & NEAP_ROLE_SCHEDULER) != 0 &&
	    (config->roles & NEAP_ROLE_DESCHEDULER) != 0 &&
	    strcmp(config->lease_ns, config->descheduler_lease_ns) == 0 &&
	    strcmp(config->lease_name, config->descheduler_lease_name) == 0)
		return neap_error_set(
			err, NEAP_EINVAL,
			"--descheduler-leader-elect-resource-name: scheduler and "
			"descheduler have each a Lease of its own");
	if (!has_api && (config->roles & NEAP_ROLE_MANAGER) != 0)
		return neap_error_set(err, NEAP_EINVAL,
				      "--roles: the manager works on the objects of this "
				      "neapd: name api, too");
	if (*config->kubeconfig &&
	    (config->lease_usec <= config->lease_renew_usec ||
	     config->lease_renew_usec * 10 <= config->lease_retry_usec * 12))
		return neap_error_set(
			err, NEAP_EINVAL,
			"--leader-elect-lease-duration must be above "
			"--leader-elect-renew-deadline, and that above 1.2 times "
			"--leader-elect-retry-period");
	if (!config->run_pods)
		return 0;
	if (!has_api || (config->roles & NEAP_ROLE_NODE) == 0)
		return neap_error_set(err, NEAP_EINVAL,
				      "--run-pods needs the roles api and node");
	if (config->dry_run)
		return neap_error_set(err, NEAP_EINVAL,
				      "--run-pods and --dry-run: one or the other");
	if (!*config->run_pods_user)
		return neap_error_set(
			err, NEAP_EINVAL,
			"--run-pods needs --run-pods-user NAME, as whom pods run: make "
			"one with 'useradd --system --no-create-home --shell "
			"/usr/sbin/nologin neap-pods'");
	return 0;
}

/* For setups in which another program asks for decisions. */
static int check_extender(const struct neap_config *config, struct neap_error *err)
{
	if (strcmp(config->extender_listen, "off") == 0)
		return config->extender_plain
			       ? neap_error_set(err, NEAP_EINVAL,
						"--extender-plain needs "
						"--extender-listen ADDR:PORT")
			       : 0;
	if ((config->roles & NEAP_ROLE_SCHEDULER) == 0)
		return neap_error_set(err, NEAP_EINVAL,
				      "--extender-listen needs the role scheduler");
	if (config->extender_plain && !neap_http_listen_is_local(config->extender_listen))
		return neap_error_set(err, NEAP_EFORBIDDEN,
				      "--extender-listen %s: other machines reach it: "
				      "--extender-plain is for 127.0.0.1 and [::1] alone",
				      config->extender_listen);
	if (!config->extender_plain && !*config->tls_client_ca)
		return neap_error_set(err, NEAP_EINVAL,
				      "--extender-listen needs --tls-cert, --tls-key and "
				      "--tls-client-ca, or --extender-plain on an "
				      "address of this machine");
	return 0;
}

/* The node's own name is one of them. */
static int finish_host_names(struct neap_config *config, struct neap_error *err)
{
	char *names = config->host_names;
	size_t len = strlen(names);
	int n;

	if (names[strspn(names, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				"0123456789.-,")])
		return neap_error_set(err, NEAP_EINVAL,
				      "--host-names: '%s': names with commas between, "
				      "without ports",
				      names);
	n = snprintf(names + len, sizeof(config->host_names) - len, "%s%s",
		     len ? "," : "", config->node_name);
	if (n < 0 || (size_t)n >= sizeof(config->host_names) - len)
		names[len] = '\0'; /* so long a node name is in nobody's address line */
	return 0;
}

/* Checks that need the whole configuration. */
/* Neither of neap's two groups may hold the other one: its weight would then count among
 * neighbours only. */
static int finish_groups(struct neap_config *config, struct neap_error *err)
{
	const char *group = config->group, *other = config->best_effort_group;

	if (!*other)
		(void)snprintf(config->best_effort_group,
			       sizeof(config->best_effort_group), "%s-besteffort", group);
	if (neap_path_is_below(group, other) || neap_path_is_below(other, group))
		return neap_error_set(
			err, NEAP_EINVAL,
			"--best-effort-group: '%s' and --group '%s' must be siblings, not one inside the other",
			other, group);
	return 0;
}

int neap_config_finish(struct neap_config *config, struct neap_error *err)
{
	int n;

	if (*config->scheduler_config && (config->roles & NEAP_ROLE_SCHEDULER) == 0)
		return neap_error_set(err, NEAP_EINVAL,
				      "--scheduler-config needs the role scheduler");
	if (*config->descheduler_config && (config->roles & NEAP_ROLE_DESCHEDULER) == 0)
		return neap_error_set(err, NEAP_EINVAL,
				      "--descheduler-config needs the role descheduler");
	if (finish_groups(config, err) < 0 || check_tls(config, err) < 0 ||
	    check_roles(config, err) < 0 || check_extender(config, err) < 0 ||
	    finish_tls_listen(config, err) < 0)
		return -(int)err->code;
	if (!*config->node_name && find_node_name(config, err) < 0)
		return -(int)err->code;
	if (finish_host_names(config, err) < 0)
		return -(int)err->code;
	if (*config->unix_socket)
		return 0;
	n = snprintf(config->unix_socket, sizeof(config->unix_socket), "%s/neap.sock",
		     config->run_dir);
	if (n < 0 || (size_t)n >= sizeof(config->unix_socket))
		return neap_error_set(
			err, NEAP_ETOOLARGE,
			"--run-dir: '%s' is too long for a socket in it: name one "
			"with --unix-socket",
			config->run_dir);
	return 0;
}
