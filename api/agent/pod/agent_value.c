/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of environment variables from other sources: the pod itself, its resources, a
 * ConfigMap or Secret of its namespace. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/agent/pod/agent_priv.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

#define ADDRESS "127.0.0.1"

static int missing(struct neap_error *err, const char *what, const char *ns,
		   const char *name)
{
	return neap_error_set(err, NEAP_ENOTFOUND, "%s \"%.60s/%.100s\" not found", what,
			      ns, name);
}

static int give(const char *text, char **ret, struct neap_error *err)
{
	char *copy = neap_strdup(text);

	if (copy == NULL)
		return neap_error_nomem(err);
	*ret = copy;
	return 0;
}

/* --- the pod's own fields --- */

/* Takes the key of "metadata.labels['x']"; false: path has another form. */
static bool take_key(const char *path, const char *map, char *key, size_t size)
{
	size_t len = strlen(map), all = strlen(path);

	if (strncmp(path, map, len) != 0 || strncmp(path + len, "['", 2) != 0 ||
	    all < len + 4 || strcmp(path + all - 2, "']") != 0 || all - len - 4 >= size)
		return false;
	(void)snprintf(key, size, "%.*s", (int)(all - len - 4), path + len + 2);
	return true;
}

static int make_field(const struct agent_pod *pod, const char *path, char **ret,
		      struct neap_error *err)
{
	const json_t *meta = json_object_get(pod->tree, "metadata");
	const struct {
		const char *path, *value;
	} fields[] = {
		{"metadata.name", pod->name},
		{"metadata.namespace", pod->ns},
		{"metadata.uid", pod->uid},
		{"spec.nodeName", pod->agent->config.node_name},
		{"spec.serviceAccountName",
		 neap_json_text(agent_spec(pod), "serviceAccountName")},
		{"status.podIP", ADDRESS},
		{"status.podIPs", ADDRESS},
		{"status.hostIP", ADDRESS},
		{"status.hostIPs", ADDRESS},
	};
	char key[320];

	for (size_t i = 0; i < NEAP_ARRAY_LEN(fields); i++)
		if (strcmp(path, fields[i].path) == 0)
			return give(fields[i].value, ret, err);
	if (take_key(path, "metadata.labels", key, sizeof(key)))
		return give(neap_json_text(json_object_get(meta, "labels"), key), ret,
			    err);
	if (take_key(path, "metadata.annotations", key, sizeof(key)))
		return give(neap_json_text(json_object_get(meta, "annotations"), key),
			    ret, err);
	return neap_error_set(err, NEAP_EINVAL, "fieldRef %.100s is not known here",
			      path);
}

/* --- what it may use --- */

/* An amount without a limit is the machine's. */
static int64_t machine_amount(const struct neap_node *node, bool is_cpu)
{
	int64_t bytes = neap_node_memory_bytes(node);

	if (is_cpu)
		return neap_node_topology(node)->cpu_count * INT64_C(1000);
	return bytes == NEAP_MISSING ? 0 : bytes;
}

static int make_resource(const struct agent_container *container, const json_t *from,
			 char **ret, struct neap_error *err)
{
	const char *resource = neap_json_text(from, "resource");
	const char *name = neap_json_text(from, "containerName");
	const char *divisor = neap_json_text(from, "divisor");
	const json_t *spec = agent_container_spec(container);
	const struct neap_node *node = container->pod->agent->config.node;
	const char *what = strncmp(resource, "limits.", 7) == 0 ? "limits" : "requests";
	const char *kind = strchr(resource, '.');
	bool is_cpu = kind != NULL && strcmp(kind, ".cpu") == 0;
	int64_t amount, unit = 0;
	char text[32];

	if (name[0] != '\0')
		spec = neap_json_find(
			json_object_get(agent_spec(container->pod), "containers"), "name",
			name);
	if (spec == NULL)
		return neap_error_set(err, NEAP_ENOTFOUND,
				      "resourceFieldRef: no container %.63s", name);
	if (kind == NULL || (!is_cpu && strcmp(kind, ".memory") != 0) ||
	    strncmp(resource, what, strlen(what)) != 0)
		return neap_error_set(err, NEAP_EINVAL,
				      "resourceFieldRef %.100s is not known here",
				      resource);
	amount = agent_amount(spec, what, kind + 1);
	if (amount == NEAP_MISSING)
		amount = strcmp(what, "limits") == 0 ? machine_amount(node, is_cpu) : 0;
	if (divisor[0] != '\0' &&
	    (is_cpu ? neap_quantity_parse_milli(divisor, &unit, err)
		    : neap_quantity_parse_units(divisor, &unit, err)) < 0)
		return neap_error_wrap(err, "resourceFieldRef.divisor");
	if (unit <= 0)
		unit = is_cpu ? 1000 : 1;
	amount = amount / unit + (amount % unit > 0);
	(void)snprintf(text, sizeof(text), "%" PRId64, amount);
	return give(text, ret, err);
}

/* --- ConfigMaps and Secrets --- */

static int digit_of(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c != '\0' ? strchr(digits, c) : NULL;

	return at != NULL ? (int)(at - digits) : -1;
}

/* Decodes a secret's value; NULL without memory. A variable cannot have a NUL, so the
 * value ends there. */
static char *decode(const char *text)
{
	char *out = neap_alloc(strlen(text) / 4 * 3 + 4);
	unsigned bits = 0, count = 0;
	size_t len = 0;

	for (; out != NULL && *text != '\0'; text++) {
		int digit = digit_of(*text);

		if (digit < 0)
			continue; /* its form was checked by the store */
		bits = (bits << 6 | (unsigned)digit) & 0xffffff;
		count += 6;
		if (count < 8)
			continue;
		count -= 8;
		out[len++] = (char)(bits >> count & 0xff);
	}
	return out;
}

/* Opens the tree of a ConfigMap or Secret; *ret NULL: it does not exist. */
static int open_source(const struct agent_pod *pod, bool is_secret, const char *name,
		       json_t **ret, struct neap_error *err)
{
	struct neap_object *object =
		neap_client_find(pod->agent->config.client,
				 is_secret ? "secrets" : "configmaps", pod->ns, name);

	*ret = NULL;
	if (object == NULL)
		return 0;
	*ret = neap_object_tree(object);
	return *ret != NULL ? 0 : neap_error_nomem(err);
}

static int give_member(const json_t *value, bool is_secret, char **ret,
		       struct neap_error *err)
{
	char *text = is_secret ? decode(json_string_value(value))
			       : neap_strdup(json_string_value(value));

	if (text == NULL)
		return neap_error_nomem(err);
	*ret = text;
	return 0;
}

static int make_key(const struct agent_pod *pod, const json_t *from, bool is_secret,
		    char **ret, struct neap_error *err)
{
	const char *name = neap_json_text(from, "name"),
		   *key = neap_json_text(from, "key");
	bool is_optional = json_is_true(json_object_get(from, "optional"));
	const char *what = is_secret ? "Secret" : "ConfigMap";
	const json_t *value;
	json_t *tree;
	int rc = open_source(pod, is_secret, name, &tree, err);

	if (rc < 0)
		return rc;
	value = json_object_get(json_object_get(tree, "data"), key);
	if (json_is_string(value))
		rc = give_member(value, is_secret, ret, err);
	else if (!is_optional && tree == NULL)
		rc = missing(err, is_secret ? "secret" : "configmap", pod->ns, name);
	else if (!is_optional)
		rc = neap_error_set(err, NEAP_ENOTFOUND,
				    "couldn't find key %.80s in %s %.60s/%.80s", key,
				    what, pod->ns, name);
	json_decref(tree);
	return rc;
}

int agent_value_make(struct agent_container *container, const json_t *from, char **ret,
		     struct neap_error *err)
{
	const json_t *part = json_object_get(from, "fieldRef");

	*ret = NULL;
	if (part != NULL)
		return make_field(container->pod, neap_json_text(part, "fieldPath"), ret,
				  err);
	part = json_object_get(from, "resourceFieldRef");
	if (part != NULL)
		return make_resource(container, part, ret, err);
	part = json_object_get(from, "configMapKeyRef");
	if (part != NULL)
		return make_key(container->pod, part, false, ret, err);
	part = json_object_get(from, "secretKeyRef");
	if (part != NULL)
		return make_key(container->pod, part, true, ret, err);
	return neap_error_set(err, NEAP_EINVAL, "this valueFrom is not known here");
}

static int collect(const json_t *data, bool is_secret, json_t *to, struct neap_error *err)
{
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)data, key, value) {
		neap_auto_free char *text = NULL;

		if (!json_is_string(value))
			continue;
		if (give_member(value, is_secret, &text, err) < 0)
			return -NEAP_ENOMEM;
		/* The bytes are only passed on, so they need not be UTF-8. */
		if (json_object_set_new(to, key, json_string_nocheck(text)) < 0)
			return neap_error_nomem(err);
	}
	return 0;
}

int agent_value_all(struct agent_container *container, const json_t *from, json_t **ret,
		    struct neap_error *err)
{
	const json_t *part = json_object_get(from, "secretRef");
	bool is_secret = part != NULL;
	const struct agent_pod *pod = container->pod;
	const char *name;
	json_t *tree;
	int rc;

	*ret = NULL;
	if (!is_secret)
		part = json_object_get(from, "configMapRef");
	name = neap_json_text(part, "name");
	rc = open_source(pod, is_secret, name, &tree, err);
	if (rc < 0)
		return rc;
	if (tree == NULL && !json_is_true(json_object_get(part, "optional")))
		return missing(err, is_secret ? "secret" : "configmap", pod->ns, name);
	if (tree == NULL)
		return 0;
	*ret = json_object();
	rc = *ret == NULL ? neap_error_nomem(err)
			  : collect(json_object_get(tree, "data"), is_secret, *ret, err);
	json_decref(tree);
	if (rc < 0) {
		json_decref(*ret);
		*ret = NULL;
	}
	return rc;
}
