/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules for probes and lifecycle hooks of containers: one handler each, and numbers
 * within limits. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/kube/rules/check_priv.h"

static void check_exec(const json_t *exec, struct neap_causes *causes)
{
	if (json_array_size(json_object_get(exec, "command")) == 0)
		neap_causes_required(causes, "command", "");
}

static bool is_header(const char *name)
{
	for (; *name != '\0'; name++)
		if (!isascii(*name) || (!isalnum(*name) && *name != '-'))
			return false;
	return true;
}

static void check_http(const json_t *get, struct neap_causes *causes)
{
	size_t i;
	const json_t *header;

	(void)rule_need(get, "path", causes);
	rule_port(get, "port", causes);
	json_array_foreach (json_object_get(get, "httpHeaders"), i, header) {
		const char *name = json_string_value(json_object_get(header, "name"));
		char field[64];

		if (name == NULL || (name[0] != '\0' && is_header(name)))
			continue;
		(void)snprintf(field, sizeof(field), "httpHeaders[%zu].name", i);
		neap_causes_invalid(causes, field, json_object_get(header, "name"),
				    "a valid HTTP header must consist of alphanumeric "
				    "characters or '-' (e.g. 'X-Header-Name', regex used "
				    "for validation is '[-A-Za-z0-9]+')");
	}
}

static void check_socket(const json_t *socket, struct neap_causes *causes)
{
	rule_port(socket, "port", causes);
}

/* Checks one handler; the first counts. */
static void check_handler(const json_t *handler, int64_t grace,
			  struct neap_causes *causes)
{
	static const struct {
		const char *name;
		void (*check)(const json_t *way, struct neap_causes *causes);
	} ways[] = {
		{"exec", check_exec},
		{"httpGet", check_http},
		{"tcpSocket", check_socket},
		{"grpc", check_socket},
		{"sleep", NULL},
	};
	size_t count = 0;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(ways); i++) {
		const json_t *way = json_object_get(handler, ways[i].name);
		int64_t seconds = rule_int(way, "seconds");
		size_t from = causes->count;

		if (way == NULL)
			continue;
		if (count++ > 0)
			neap_causes_forbidden(causes, "",
					      "may not specify more than 1 handler type");
		else if (ways[i].check != NULL)
			ways[i].check(way, causes);
		else if (seconds <= 0 || seconds > grace)
			neap_causes_invalid(causes, "", json_object_get(way, "seconds"),
					    "must be greater than 0 and less than "
					    "terminationGracePeriodSeconds (%" PRId64 ")",
					    grace);
		neap_causes_infield(causes, from, "%s", ways[i].name);
	}
	if (count == 0)
		neap_causes_required(causes, "", "must specify a handler type");
}

static void check_probe(const json_t *probe, bool is_readiness,
			struct neap_causes *causes)
{
	static const char *const numbers[] = {"initialDelaySeconds", "timeoutSeconds",
					      "periodSeconds", "successThreshold",
					      "failureThreshold"};
	static const char grace[] = "terminationGracePeriodSeconds";
	const json_t *seconds = json_object_get(probe, grace);

	check_handler(probe, 0, causes);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(numbers); i++)
		rule_not_negative(probe, numbers[i], causes);
	if (is_readiness) {
		if (seconds != NULL)
			neap_causes_invalid(causes, grace, seconds,
					    "must not be set for readinessProbes");
		return;
	}
	if (json_is_integer(seconds) && json_integer_value(seconds) <= 0)
		neap_causes_invalid(causes, grace, seconds, "must be greater than 0");
	if (rule_int(probe, "successThreshold") != 1)
		neap_causes_invalid(causes, "successThreshold",
				    json_object_get(probe, "successThreshold"),
				    "must be 1");
}

void rule_probes(const json_t *container, int64_t grace, struct neap_causes *causes)
{
	static const char *const probes[] = {"livenessProbe", "readinessProbe",
					     "startupProbe"};
	static const char *const hooks[] = {"postStart", "preStop"};
	const json_t *lifecycle = json_object_get(container, "lifecycle");
	size_t from;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(hooks); i++) {
		const json_t *hook = json_object_get(lifecycle, hooks[i]);

		from = causes->count;
		if (hook != NULL)
			check_handler(hook, grace, causes);
		neap_causes_infield(causes, from, "lifecycle.%s", hooks[i]);
	}
	for (size_t i = 0; i < NEAP_ARRAY_LEN(probes); i++) {
		const json_t *probe = json_object_get(container, probes[i]);

		from = causes->count;
		if (probe != NULL)
			check_probe(probe, i == 1, causes);
		neap_causes_infield(causes, from, "%s", probes[i]);
	}
}
