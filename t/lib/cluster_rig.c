/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/cluster_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct neap_object *cluster_object(const char *name, const char *ns, const char *meta,
				   const char *spec, const char *status)
{
	static const char *const fields[] = {"spec.nodeName", NULL};
	struct neap_object *object = NULL;
	struct neap_error err = {0};
	json_error_t where;
	char text[8192];
	json_t *tree;

	(void)snprintf(
		text, sizeof(text),
		"{'metadata':{'name':'%s','namespace':'%s','uid':'u-%s'%s%s},'spec':"
		"%s,'status':%s}",
		name, ns, name, *meta ? "," : "", meta, spec, status);
	for (char *c = text; *c; c++)
		*c = (char)(*c == '\'' ? '"' : *c);
	tree = json_loads(text, 0, &where);
	if (!tree)
		fail_msg("%s: %s in %s", name, where.text, text);
	if (neap_object_new_take(tree, fields, 1, &object, &err) < 0)
		fail_msg("%s: %s", name, err.msg);
	return object;
}

struct neap_pod *cluster_pod(struct neap_resources *resources, const char *name,
			     const char *meta, const char *spec, const char *status)
{
	struct neap_object *object = cluster_object(name, "default", meta, spec, status);
	struct neap_error err = {0};
	struct neap_pod *pod = NULL;

	if (neap_pod_new(object, resources, &pod, &err) < 0)
		fail_msg("%s: %s", name, err.msg);
	(void)neap_object_unref(object);
	return pod;
}

struct neap_cluster *cluster_new(void)
{
	struct neap_cluster *cluster = NULL;
	struct neap_error err = {0};

	if (neap_cluster_new(&cluster, &err) < 0)
		fail_msg("%s", err.msg);
	return cluster;
}

unsigned cluster_set_node(struct neap_cluster *cluster, const char *name,
			  const char *meta, const char *spec, const char *allocatable)
{
	struct neap_error err = {0};
	struct neap_object *object;
	unsigned moved = 0;
	char status[4096];

	(void)snprintf(status, sizeof(status), "{'allocatable':{%s}}", allocatable);
	object = cluster_object(name, "", meta, spec, status);
	if (neap_cluster_set_node(cluster, object, &moved, &err) < 0)
		fail_msg("%s: %s", name, err.msg);
	(void)neap_object_unref(object);
	return moved;
}

unsigned cluster_set_pod(struct neap_cluster *cluster, const char *name, const char *meta,
			 const char *spec, const char *status)
{
	struct neap_object *object = cluster_object(name, "default", meta, spec, status);
	struct neap_error err = {0};
	unsigned moved = 0;

	if (neap_cluster_set_pod(cluster, object, &moved, &err) < 0)
		fail_msg("%s: %s", name, err.msg);
	(void)neap_object_unref(object);
	return moved;
}
