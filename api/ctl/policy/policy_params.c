/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl policy params`: shows the parameters of a policy, and sets them while it
 * runs. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/ctl/draw/cells.h"
#include "api/ctl/policy/policy_priv.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

static json_t *number_new(const char *text)
{
	int64_t integer;
	double real;
	char *end;

	if (neap_int_parse(text, &integer, NULL) == 0)
		return json_integer(integer);
	errno = 0;
	real = strtod(text, &end);
	if (errno != 0 || end == text || *end || !isfinite(real))
		return NULL;
	return json_real(real);
}

static json_t *boolean_new(const char *text)
{
	if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
		return NULL;
	return json_boolean(strcmp(text, "true") == 0);
}

static json_t *json_new(const char *text)
{
	json_t *json = NULL;
	json_error_t where;

	(void)neap_json_parse(text, strlen(text), JSON_REJECT_DUPLICATES, &json, &where);
	return json;
}

/* The JSON for a text, by the type of its parameter. A text that is not a number, or not
 * JSON, is sent as a string: the daemon knows what is allowed and reports it. */
static json_t *value_new(const char *type, const char *text)
{
	static const struct {
		const char *type;
		json_t *(*make)(const char *text);
	} makers[] = {
		{"integer", number_new},  {"number", number_new}, {"percent", number_new},
		{"boolean", boolean_new}, {"list", json_new},     {"map", json_new},
		{"selector", json_new},
	};
	json_t *value = NULL;
	size_t i;

	if (!*text)
		return json_null();
	for (i = 0; i < NEAP_ARRAY_LEN(makers); i++)
		if (strcmp(makers[i].type, type) == 0)
			value = makers[i].make(text);
	return value != NULL ? value : json_string(text);
}

static int unknown(const char *policy, const char *name, const json_t *schema)
{
	const char *names[64], *key, *near;
	json_t *row;
	size_t count = 0;

	json_object_foreach ((json_t *)schema, key, row) {
		if (count < NEAP_ARRAY_LEN(names))
			names[count++] = key;
	}
	near = neap_nearest_find(name, names, count);
	return neap_ctl_complainf(NEAP_CTL_FAILED, "%s has no parameter '%.64s'%s%s%s",
				  policy, name, near != NULL ? "; did you mean " : "",
				  near != NULL ? near : "", near != NULL ? "?" : "");
}

/* "NAME=VALUE" each, into the object. */
static int assignments_add(const char *policy, const json_t *schema, int count,
			   char **words, json_t *object)
{
	const json_t *row;
	const char *equals;
	char name[64];
	int i;

	for (i = 0; i < count; i++) {
		equals = strchr(words[i], '=');
		(void)snprintf(name, sizeof(name), "%.*s", (int)(equals - words[i]),
			       words[i]);
		row = json_object_get(schema, name);
		if (row == NULL)
			return unknown(policy, name, schema);
		if (json_object_set_new(
			    object, name,
			    value_new(neap_cell_text(row, "type"), equals + 1)) < 0)
			return neap_ctl_complainf(NEAP_CTL_FAILED,
						  "%s: is no UTF-8, or memory is short",
						  name);
	}
	return 0;
}

static int patch(struct neap_client *client, const char *policy, const json_t *object,
		 json_t **ret)
{
	char path[NEAP_POLICY_PATH];
	neap_auto_free char *body = neap_json_dump(object, JSON_COMPACT);
	struct neap_client_request request = {
		.method = "PATCH", .path = path, .body = body};
	struct neap_client_reply reply;
	struct neap_error err = {0};
	int r = neap_ctl_policy_path(policy, "/params", path);

	if (r != 0)
		return r;
	if (body == NULL)
		return neap_ctl_complainf(NEAP_CTL_FAILED, "out of memory");
	request.body_len = strlen(body);
	if (neap_client_send(client, &request, &reply, &err) < 0)
		r = neap_ctl_policy_print_refusal(&reply, &err, policy, false);
	else if (reply.json == NULL)
		r = neap_ctl_complainf(NEAP_CTL_FAILED,
				       "the daemon answers, but not with JSON");
	else
		*ret = neap_steal(reply.json);
	neap_client_reply_done(&reply);
	return r;
}

/* Sets what the words say; *reply becomes the answer. */
static int set(struct neap_client *client, const char *policy, int count, char **words,
	       json_t **reply)
{
	json_t *object = json_object(), *now = NULL;
	int r;

	if (object == NULL)
		return neap_ctl_complainf(NEAP_CTL_FAILED, "out of memory");
	r = assignments_add(policy, json_object_get(*reply, "schema"), count, words,
			    object);
	if (r == 0)
		r = patch(client, policy, object, &now);
	json_decref(object);
	if (r != 0)
		return r;
	json_decref(*reply);
	*reply = now;
	return 0;
}

static void add(const json_t *reply, const void *policy, struct neap_buf *out)
{
	const json_t *schema = json_object_get(reply, "schema");

	if (json_object_size(schema) == 0)
		neap_buf_addf(out, "%s has no parameters\n", (const char *)policy);
	else
		neap_ctl_policy_add_params(json_object_get(reply, "values"), schema, out);
}

static int params(struct neap_ctl *ctl, void *values, int argc, char **argv)
{
	struct neap_client *client = NULL;
	struct neap_error err = {0};
	json_t *reply = NULL;
	int i, r;

	(void)values;
	for (i = 1; i < argc; i++)
		if (strchr(argv[i], '=') == NULL || argv[i][0] == '=')
			return neap_ctl_complainf(
				NEAP_CTL_USAGE, "'%.64s': NAME=VALUE is wanted", argv[i]);
	if (neap_client_new(ctl, &client, &err) < 0)
		return neap_ctl_fail(&err);
	r = neap_ctl_policy_get(client, argv[0], "/params", &reply);
	if (r == 0 && argc > 1)
		r = set(client, argv[0], argc - 1, argv + 1, &reply);
	neap_client_free(client);
	if (r == 0)
		return neap_ctl_show_take(ctl, reply, add, argv[0]);
	json_decref(reply);
	return r;
}

const struct neap_command neap_command_policy_params = {
	.name = "policy params",
	.usage = "[-o json|yaml] KIND/NAME [PARAM=VALUE...]",
	.example = "policy params qos/mine share=40",
	.summary = "show the parameters of a policy, or set some while it runs",
	.text = "PARAM= without a value restores that of the configuration or the default. Either all are\n"
		"set or none. A list or a map is JSON text.\n",
	.output = "print values and schema as JSON or YAML",
	.args_min = 1,
	.args_max = -1,
	.run = params,
};
