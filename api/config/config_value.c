/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses values of options by type. */
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "api/config/config_priv.h"
#include "api/http/server.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/base/selector.h"
#include "engine/base/text.h"
#include "engine/machine/cpuset.h"

/* --- nearest name --- */

const char *neap_config_nearest(const char *text, const char *const *names, size_t count)
{
	const char *best = NULL;
	size_t best_distance = strlen(text) / 2 < 4 ? strlen(text) / 2 + 1 : 4, i;

	for (i = 0; i < count; i++) {
		size_t d = neap_text_distance(text, names[i]);

		if (d < best_distance) {
			best_distance = d;
			best = names[i];
		}
	}
	return best;
}

/* --- values --- */

static int set_amount(int64_t *to, const struct neap_option *option, const char *text,
		      bool is_cpu, struct neap_error *err)
{
	char *(*const format)(int64_t, char *, size_t) =
		is_cpu ? neap_quantity_format_milli : neap_quantity_format_bytes;
	char low[32], high[32];
	int64_t amount;

	if ((is_cpu ? neap_quantity_parse_milli(text, &amount, NULL)
		    : neap_quantity_parse_units(text, &amount, NULL)) < 0)
		return neap_error_set(
			err, NEAP_EINVAL, "'%s' is no amount of %s: give for example %s",
			text, is_cpu ? "CPU" : "memory", is_cpu ? "500m or 2" : "64Mi");
	if (amount < option->min || amount > option->max)
		return neap_error_set(err, NEAP_EINVAL, "'%s' is out of range: %s to %s",
				      text, format(option->min, low, sizeof(low)),
				      format(option->max, high, sizeof(high)));
	*to = amount;
	return 0;
}

static int set_text(char *to, size_t size, const char *text, struct neap_error *err)
{
	if (strlen(text) >= size)
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "'%.40s...' is longer than %zu bytes", text,
				      size - 1);
	neap_strcopy(to, size, text);
	return 0;
}

static int set_listen(char *to, size_t size, const char *text, struct neap_error *err)
{
	struct sockaddr_storage addr;
	int len;

	if (strcmp(text, "off") != 0) {
		if (neap_http_listen_parse(text, (struct sockaddr *)&addr, &len, NULL) <
		    0)
			return neap_error_set(err, NEAP_EINVAL,
					      "'%s' is no address: give for example "
					      "127.0.0.1:6327 or [::1]:6327, or off",
					      text);
	}
	return set_text(to, size, text, err);
}

static int set_cpus(char *to, size_t size, const char *text, struct neap_error *err)
{
	struct neap_cpuset cpus;

	if (neap_cpuset_parse(&cpus, text, NULL) < 0)
		return neap_error_set(err, NEAP_EINVAL,
				      "'%s' is no CPU list: give for example 0-3,8",
				      text);
	return set_text(to, size, text, err);
}

static int set_duration(int64_t *to, const struct neap_option *option, const char *text,
			struct neap_error *err)
{
	char low[32], high[32];
	int64_t usec;

	neap_duration_format(option->min, low, sizeof(low));
	neap_duration_format(option->max, high, sizeof(high));
	if (neap_duration_parse(text, &usec, NULL) < 0)
		return neap_error_set(
			err, NEAP_EINVAL,
			"'%s' is no duration: give for example %s (%s to %s)", text,
			option->fallback, low, high);
	if (usec < option->min || usec > option->max)
		return neap_error_set(err, NEAP_EINVAL, "'%s' is out of range: %s to %s",
				      text, low, high);
	*to = usec;
	return 0;
}

static int set_count(int64_t *to, const struct neap_option *option, const char *text,
		     struct neap_error *err)
{
	int64_t count;

	if (neap_int_parse(text, &count, NULL) < 0)
		return neap_error_set(err, NEAP_EINVAL, "'%s' is no number", text);
	if (count < option->min || count > option->max)
		return neap_error_set(err, NEAP_EINVAL,
				      "'%s' is out of range: %" PRId64 " to %" PRId64,
				      text, option->min, option->max);
	*to = count;
	return 0;
}

void neap_config_list_choices(const char *const *choices, char *buf, size_t size)
{
	size_t len = 0;

	for (buf[0] = '\0'; *choices && len < size; choices++) {
		int n = snprintf(buf + len, size - len, "%s%s", len ? ", " : "",
				 *choices);

		len += n > 0 ? (size_t)n : 0;
	}
}

static int set_choice(int *to, const struct neap_option *option, const char *text,
		      struct neap_error *err)
{
	char all[128];
	int i;

	for (i = 0; option->choices[i]; i++)
		if (strcmp(option->choices[i], text) == 0) {
			*to = i;
			return 0;
		}
	neap_config_list_choices(option->choices, all, sizeof(all));
	return neap_error_set(err, NEAP_EINVAL, "'%s' is unknown: there are %s", text,
			      all);
}

static int set_bool(bool *to, const char *text, struct neap_error *err)
{
	static const char *const words[] = {"false", "true", "no", "yes", "off", "on"};
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(words); i++)
		if (strcmp(words[i], text) == 0) {
			*to = i % 2;
			return 0;
		}
	return neap_error_set(err, NEAP_EINVAL, "'%s' is neither true nor false", text);
}

static int set_group(char *to, size_t size, const char *text, struct neap_error *err)
{
	if (!neap_path_is_safe(text))
		return neap_error_set(
			err, NEAP_EINVAL,
			"'%s' is no group: a path like neap or a/b, without "
			"leading slash and '..'",
			text);
	return set_text(to, size, text, err);
}

int neap_config_policy_add_param(struct neap_policy_choice *choice, const char *name,
				 const char *value, struct neap_error *err)
{
	int i = choice->param_count;

	if (i == NEAP_ARRAY_LEN(choice->params))
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "policy %s: more than %zu parameters",
				      choice->source, NEAP_ARRAY_LEN(choice->params));
	if (!*name ||
	    !neap_strcopy(choice->params[i].name, sizeof(choice->params[i].name), name))
		return neap_error_set(err, NEAP_EINVAL,
				      "policy %s: '%.70s' is no parameter name",
				      choice->source, name);
	if (!neap_strcopy(choice->params[i].value, sizeof(choice->params[i].value),
			  value))
		return neap_error_set(
			err, NEAP_ETOOLARGE,
			"policy %s: the value of %s is longer than %zu bytes",
			choice->source, name, sizeof(choice->params[i].value) - 1);
	choice->params[i].line = 0;
	choice->param_count++;
	return 0;
}

int neap_config_add_policy(struct neap_config *config, const char *text,
			   struct neap_error *err)
{
	struct neap_policy_choice *choice = &config->policies[config->policy_count];
	neap_auto_free char *copy = neap_strdup(text);
	char *rest, *item;

	if (!copy)
		return neap_error_nomem(err);
	if (strcmp(text, "none") == 0) {
		config->policy_count = 0;
		return 0;
	}
	if (config->policy_count == NEAP_POLICIES_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE, "more than %d policies",
				      NEAP_POLICIES_MAX);
	memset(choice, 0, sizeof(*choice));
	rest = strchr(copy, ':');
	if (rest)
		*rest++ = '\0';
	if (!*copy || !neap_strcopy(choice->source, sizeof(choice->source), copy))
		return neap_error_set(
			err, NEAP_EINVAL,
			"'%.80s' names no policy: give for example qos/cpu-share "
			"or a file",
			text);
	for (item = strsep(&rest, ","); item; item = strsep(&rest, ",")) {
		char *value = strchr(item, '=');

		if (!value)
			return neap_error_set(
				err, NEAP_EINVAL,
				"'%s': after ':' come PARAM=VALUE pairs, for "
				"example qos/cpu-suppress:threshold=70",
				text);
		*value++ = '\0';
		if (neap_config_policy_add_param(choice, item, value, err) < 0)
			return -NEAP_EINVAL;
	}
	config->policy_count++;
	return 0;
}

/* A name as Kubernetes takes it for a node: a DNS subdomain. */
static int set_name(char *to, size_t size, const char *text, struct neap_error *err)
{
	size_t len = strlen(text);

	if (len == 0 || strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789.-") != len ||
	    strchr(".-", text[0]) != NULL || strchr(".-", text[len - 1]) != NULL)
		return neap_error_set(err, NEAP_EINVAL,
				      "'%.80s' is no name: lower case letters, "
				      "digits, '-' and '.', as in node-1.example",
				      text);
	return set_text(to, size, text, err);
}

int neap_config_add_label(struct neap_config *config, const char *key, const char *value,
			  struct neap_error *err)
{
	struct neap_node_label *label;
	int i;

	if (neap_label_check_key(key, err) < 0)
		return neap_error_wrap(err, "label '%.60s'", key);
	if (neap_label_check_value(value, err) < 0)
		return neap_error_wrap(err, "value '%.60s' of label %.60s", value, key);
	for (i = 0; i < config->node_label_count; i++)
		if (strcmp(config->node_labels[i].key, key) == 0)
			break;
	if (i == NEAP_NODE_LABELS_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE, "more than %d labels",
				      NEAP_NODE_LABELS_MAX);
	label = &config->node_labels[i];
	if (!neap_strcopy(label->key, sizeof(label->key), key) ||
	    !neap_strcopy(label->value, sizeof(label->value), value))
		return neap_error_set(err, NEAP_ETOOLARGE, "label '%.60s' is too long",
				      key);
	config->node_label_count += i == config->node_label_count;
	return 0;
}

static int set_label(struct neap_config *config, const char *text, struct neap_error *err)
{
	neap_auto_free char *copy = neap_strdup(text);
	char *value;

	if (!copy)
		return neap_error_nomem(err);
	value = strchr(copy, '=');
	if (!value)
		return neap_error_set(err, NEAP_EINVAL,
				      "'%.80s' is no label: give KEY=VALUE, for example "
				      "pool=batch",
				      text);
	*value++ = '\0';
	return neap_config_add_label(config, copy, value, err);
}

static const char *const role_names[] = {"api",     "node",        "scheduler",
					 "manager", "controllers", "descheduler"};

void neap_config_list_roles(unsigned roles, char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < NEAP_ARRAY_LEN(role_names) && len < size; i++) {
		int n = roles & 1U << i ? snprintf(buf + len, size - len, "%s%s",
						   len ? " or " : "", role_names[i])
					: 0;

		len += n > 0 ? (size_t)n : 0;
	}
}

static int set_roles(unsigned *to, const char *text, struct neap_error *err)
{
	neap_auto_free char *copy = neap_strdup(text);
	char *rest = copy, *item;
	unsigned roles = 0;
	size_t i;

	if (!copy)
		return neap_error_nomem(err);
	while ((item = strsep(&rest, ",")) != NULL) {
		item += strspn(item, " ");
		item[strcspn(item, " ")] = '\0';
		for (i = 0; i < NEAP_ARRAY_LEN(role_names); i++)
			if (strcmp(role_names[i], item) == 0)
				break;
		if (i == NEAP_ARRAY_LEN(role_names))
			return neap_error_set(
				err, NEAP_EINVAL,
				"'%.40s' is no role of this version: there "
				"are api, scheduler, descheduler, controllers, "
				"manager, node",
				item);
		roles |= 1u << i;
	}
	*to = roles;
	return 0;
}

int neap_config_set(struct neap_config *config, const struct neap_option *option,
		    const char *text, struct neap_error *err)
{
	void *to = (char *)config + option->offset;

	switch (option->type) {
	case NEAP_OPTION_TEXT:
		return set_text(to, option->size, text, err);
	case NEAP_OPTION_LISTEN:
		return set_listen(to, option->size, text, err);
	case NEAP_OPTION_GROUP:
		return set_group(to, option->size, text, err);
	case NEAP_OPTION_CPUS:
		return set_cpus(to, option->size, text, err);
	case NEAP_OPTION_DURATION:
		return set_duration(to, option, text, err);
	case NEAP_OPTION_MILLI:
		return set_amount(to, option, text, true, err);
	case NEAP_OPTION_BYTES:
		return set_amount(to, option, text, false, err);
	case NEAP_OPTION_COUNT:
		return set_count(to, option, text, err);
	case NEAP_OPTION_CHOICE:
		return set_choice(to, option, text, err);
	case NEAP_OPTION_BOOL:
		return set_bool(to, text, err);
	case NEAP_OPTION_NAME:
		return set_name(to, option->size, text, err);
	case NEAP_OPTION_ROLES:
		return set_roles(to, text, err);
	case NEAP_OPTION_POLICY:
		return neap_config_add_policy(config, text, err);
	case NEAP_OPTION_LABEL:
		return set_label(config, text, err);
	case NEAP_OPTION_GRANT:
		return neap_grants_parse(&config->grants, text, err);
	case NEAP_OPTION_APPS:
	case NEAP_OPTION_ACTION:
		break;
	}
	return neap_error_set(err, NEAP_EINTERNAL, "takes no value");
}
