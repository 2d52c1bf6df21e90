/* SPDX-License-Identifier: Apache-2.0
 *
 * The command of a container and its environment. $(NAME) is expanded as in Kubernetes:
 * in a variable from earlier ones, in command and arguments from all; $$ is a $, and an
 * unknown name stays as written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/agent/pod/agent_priv.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

#define PATH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* Variables in order; the map owns the values. */
struct vars {
	struct agent_container *container;
	struct neap_map *map;
	size_t bytes;
};

static void vars_done(struct vars *vars)
{
	for (size_t i = 0; vars->map != NULL && i < neap_map_count(vars->map); i++) {
		const char *name;

		free(neap_map_at(vars->map, i, &name));
	}
	neap_map_free(vars->map);
}

/* Takes value. The last value of a name counts. */
static int vars_put_take(struct vars *vars, const char *name, char *value,
			 struct neap_error *err)
{
	char *before;

	if (value == NULL)
		return neap_error_nomem(err);
	vars->bytes += strlen(name) + strlen(value) + 2;
	if (vars->bytes > NEAP_KEEPER_TEXT_MAX ||
	    neap_map_count(vars->map) >= NEAP_KEEPER_STRINGS) {
		free(value);
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "the environment is over %d KiB or %d variables",
				      NEAP_KEEPER_TEXT_MAX / 1024, NEAP_KEEPER_STRINGS);
	}
	before = neap_map_find(vars->map, name);
	if (!neap_map_set(vars->map, name, value)) {
		free(value);
		return neap_error_nomem(err);
	}
	free(before);
	return 0;
}

/* Returns NULL with err on failure. */
static char *expand(const struct vars *vars, const char *text, struct neap_error *err)
{
	struct neap_buf buf;
	char name[256];

	neap_buf_init(&buf, NEAP_KEEPER_TEXT_MAX);
	while (*text != '\0') {
		const char *dollar = strchr(text, '$'), *end;
		const char *value = NULL;

		neap_buf_add(&buf, text, dollar ? (size_t)(dollar - text) : strlen(text));
		if (dollar == NULL)
			break;
		end = dollar[1] == '(' ? strchr(dollar, ')') : NULL;
		if (dollar[1] == '$') {
			neap_buf_addc(&buf, '$');
			text = dollar + 2;
			continue;
		}
		if (end != NULL && (size_t)(end - dollar - 2) < sizeof(name)) {
			(void)snprintf(name, sizeof(name), "%.*s",
				       (int)(end - dollar - 2), dollar + 2);
			value = neap_map_find(vars->map, name);
		}
		if (value != NULL)
			neap_buf_adds(&buf, value);
		else /* all of it: $(...) inside is not a reference */
			neap_buf_add(&buf, dollar, end ? (size_t)(end - dollar) + 1 : 1);
		text = end != NULL ? end + 1 : dollar + 1;
	}
	if (neap_buf_failed(&buf)) {
		(void)neap_buf_error(&buf, "a text with variables in it", err);
		neap_buf_done(&buf);
		return NULL;
	}
	return neap_buf_take(&buf);
}

static int add_from(struct vars *vars, const json_t *from, struct neap_error *err)
{
	const char *prefix = neap_json_text(from, "prefix"), *key;
	json_t *all, *value;
	int rc = agent_value_all(vars->container, from, &all, err);

	if (rc < 0)
		return rc;
	json_object_foreach (all, key, value) {
		char name[512];

		/* A key may be an invalid name of a variable. */
		if (strchr(key, '=') != NULL || key[0] == '\0')
			continue;
		(void)snprintf(name, sizeof(name), "%s%s", prefix, key);
		rc = vars_put_take(vars, name, neap_strdup(json_string_value(value)),
				   err);
		if (rc < 0)
			break;
	}
	json_decref(all);
	return rc;
}

static int add_variable(struct vars *vars, const json_t *variable, struct neap_error *err)
{
	const char *name = neap_json_text(variable, "name");
	const json_t *from = json_object_get(variable, "valueFrom");
	char *value;
	int rc;

	if (name[0] == '\0' || strchr(name, '=') != NULL)
		return neap_error_set(err, NEAP_EINVAL, "env: no name of a variable");
	if (from == NULL) {
		value = expand(vars, neap_json_text(variable, "value"), err);
		return value != NULL ? vars_put_take(vars, name, value, err)
				     : -NEAP_EINVAL;
	}
	rc = agent_value_make(vars->container, from, &value, err);
	if (rc < 0 || value == NULL)
		return rc;
	return vars_put_take(vars, name, value, err);
}

static int add_all(struct vars *vars, const json_t *spec, struct neap_error *err)
{
	const json_t *one;
	size_t i;
	int rc = vars_put_take(vars, "PATH", neap_strdup(PATH_DEFAULT), err);

	if (rc >= 0)
		rc = vars_put_take(vars, "HOSTNAME",
				   neap_strdup(vars->container->pod->name), err);
	json_array_foreach (json_object_get(spec, "envFrom"), i, one)
		if (rc >= 0)
			rc = add_from(vars, one, err);
	json_array_foreach (json_object_get(spec, "env"), i, one)
		if (rc >= 0)
			rc = add_variable(vars, one, err);
	return rc;
}

static int make_envp(const struct vars *vars, char ***ret, struct neap_error *err)
{
	size_t count = neap_map_count(vars->map);

	*ret = neap_alloc_array(count + 1, sizeof(**ret));
	if (*ret == NULL)
		return neap_error_nomem(err);
	for (size_t i = 0; i < count; i++) {
		const char *name, *value = neap_map_at(vars->map, i, &name);

		(*ret)[i] = neap_asprintf("%s=%s", name, value);
		if ((*ret)[i] == NULL)
			return neap_error_nomem(err);
	}
	return 0;
}

static int make_argv(const struct vars *vars, const json_t *spec, char ***ret,
		     struct neap_error *err)
{
	const json_t *lists[] = {json_object_get(spec, "command"),
				 json_object_get(spec, "args")};
	size_t count = json_array_size(lists[0]) + json_array_size(lists[1]), at = 0;
	size_t bytes = 0;

	if (count > NEAP_KEEPER_STRINGS)
		return neap_error_set(err, NEAP_ETOOLARGE, "over %d arguments",
				      NEAP_KEEPER_STRINGS);
	*ret = neap_alloc_array(count + 1, sizeof(**ret));
	if (*ret == NULL)
		return neap_error_nomem(err);
	for (size_t k = 0; k < NEAP_ARRAY_LEN(lists); k++) {
		const json_t *text;
		size_t i;

		json_array_foreach (lists[k], i, text) {
			const char *plain = json_string_value(text);

			(*ret)[at] = expand(vars, plain ? plain : "", err);
			if ((*ret)[at] == NULL)
				return -NEAP_EINVAL;
			bytes += strlen((*ret)[at++]) + 1;
			if (bytes > NEAP_KEEPER_TEXT_MAX)
				return neap_error_set(err, NEAP_ETOOLARGE,
						      "arguments over %d KiB",
						      NEAP_KEEPER_TEXT_MAX / 1024);
		}
	}
	return 0;
}

static void free_texts(char **texts)
{
	for (size_t i = 0; texts != NULL && texts[i] != NULL; i++)
		free(texts[i]);
	free(texts);
}

void agent_order_done(struct agent_order *order)
{
	free_texts(order->argv);
	free_texts(order->envp);
	free(order->cwd);
	*order = (struct agent_order){0};
}

int agent_order_make(struct agent_container *container, struct agent_order *ret,
		     struct neap_error *err)
{
	const json_t *spec = agent_container_spec(container);
	struct vars vars = {.container = container, .map = neap_map_new()};
	const char *cwd = neap_json_text(spec, "workingDir");
	struct agent_order order = {0};
	int rc = vars.map != NULL ? add_all(&vars, spec, err) : neap_error_nomem(err);

	if (rc >= 0)
		rc = make_envp(&vars, &order.envp, err);
	if (rc >= 0)
		rc = make_argv(&vars, spec, &order.argv, err);
	if (rc >= 0 && cwd[0] != '\0') {
		order.cwd = neap_strdup(cwd);
		if (order.cwd == NULL)
			rc = neap_error_nomem(err);
	}
	vars_done(&vars);
	if (rc < 0) {
		agent_order_done(&order);
		return rc;
	}
	*ret = order;
	return 0;
}
