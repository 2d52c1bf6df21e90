/* SPDX-License-Identifier: Apache-2.0
 *
 * Where pods with claims can be: volumes that only some nodes reach, claims without a
 * volume, claims of one pod. */
#include "engine/cluster/volumes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/decide/decide.h"
#include "t/lib/cluster_rig.h"

#define CLAIM(name)                                                                      \
	"{'containers':[{}],'volumes':[{'persistentVolumeClaim':{'claimName':'" name     \
	"'}}]}"
#define HELPLESS                                                                         \
	" preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."

struct rig {
	struct neap_cluster *cluster;
	struct neap_decide *decide;
};

static void set(struct neap_cluster *cluster, char what, const char *name,
		const char *meta, const char *spec)
{
	struct neap_object *object =
		cluster_object(name, what == 'c' ? "default" : "", meta, spec, "{}");
	struct neap_error err = {0};
	unsigned moved = 0;
	int ret = what == 'c' ? neap_cluster_set_claim(cluster, object, &moved, &err)
			      : neap_cluster_set_volume(cluster, object, &moved, &err);

	if (ret < 0)
		fail_msg("%s: %s", name, err.msg);
	assert_int_equal(moved, NEAP_MOVED_VOLUMES);
	(void)neap_object_unref(object);
}

static void set_class(struct neap_cluster *cluster, const char *mode)
{
	struct neap_object *object = NULL;
	struct neap_error err = {0};
	unsigned moved = 0;

	assert_int_equal(
		neap_object_new_take(json_pack("{s:{s:s}, s:s}", "metadata", "name",
					       "late", "volumeBindingMode", mode),
				     NULL, 1, &object, &err),
		0);
	assert_int_equal(neap_cluster_set_class(cluster, object, &moved, &err), 0);
	(void)neap_object_unref(object);
}

static int setup(void **state)
{
	static struct rig rig;
	struct neap_decide_config config = {0};
	struct neap_error err;

	rig.cluster = config.cluster = cluster_new();
	(void)cluster_set_node(rig.cluster, "a",
			       "'labels':{'kubernetes.io/hostname':'a','topology."
			       "kubernetes.io/zone':'1'}",
			       "{}", "'cpu':'4','pods':'9'");
	(void)cluster_set_node(rig.cluster, "b",
			       "'labels':{'kubernetes.io/hostname':'b','topology."
			       "kubernetes.io/zone':'2'}",
			       "{}", "'cpu':'8','pods':'9'");
	assert_int_equal(neap_decide_new(&config, &rig.decide, &err), 0);
	*state = &rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;

	neap_decide_free(rig->decide);
	neap_cluster_free(rig->cluster);
	return 0;
}

/* The node, or the message. */
static const char *decide(struct rig *rig, const char *name)
{
	static char text[1024];
	struct neap_pod *pod = neap_cluster_find_pod(rig->cluster, "default", name);
	struct neap_choice choice = {0};
	struct neap_victims victims = {0};
	struct neap_error err = {0};
	struct neap_buf buf;
	int ret = neap_decide_pod(rig->decide, pod, &choice, &err);

	if (ret > 0)
		return choice.node;
	assert_int_equal(ret, 0);
	assert_int_not_equal(neap_decide_wakes(rig->decide) & NEAP_MOVED_VOLUMES, 0);
	ret = neap_decide_preempt(rig->decide, pod, &victims, &err);
	neap_buf_init(&buf, sizeof(text));
	neap_decide_explain(rig->decide, &buf);
	(void)snprintf(text, sizeof(text), "%s%s", ret > 0 ? "+" : "", buf.data);
	neap_buf_done(&buf);
	return text;
}

#define ONLY(key, value)                                                                     \
	"'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'" key \
	"','operator':'In','values':['" value "']}]}]}}"

static void test_only_where_the_volume_is(void **state)
{
	struct rig *rig = *state;

	set(rig->cluster, 'c', "data", "", "{'volumeName':'disk'}");
	(void)cluster_set_pod(rig->cluster, "p", "", CLAIM("data"), "{}");
	assert_string_equal(decide(rig, "p"),
			    "0/2 nodes are available: persistentvolumeclaim \"data\" "
			    "bound to non-existent persistentvolume \"disk\"." HELPLESS);
	set(rig->cluster, 'v', "disk", "", "{" ONLY("kubernetes.io/hostname", "a") "}");
	assert_string_equal(decide(rig, "p"), "a");
	set(rig->cluster, 'v', "disk", "", "{" ONLY("kubernetes.io/hostname", "b") "}");
	assert_string_equal(decide(rig, "p"), "b");
	set(rig->cluster, 'v', "disk", "", "{" ONLY("kubernetes.io/hostname", "c") "}");
	assert_string_equal(decide(rig, "p"),
			    "0/2 nodes are available: 2 node(s) had volume node "
			    "affinity conflict." HELPLESS);
	/* What nobody can read is reached from nowhere. */
	set(rig->cluster, 'v', "disk", "",
	    "{'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{"
	    "'key':'x','operator':'Odd'}]}]}}}");
	assert_string_equal(decide(rig, "p"),
			    "0/2 nodes are available: 2 node(s) had volume node "
			    "affinity conflict." HELPLESS);
	set(rig->cluster, 'v', "disk", "", "{}");
	assert_string_equal(decide(rig, "p"), "b");
}

static void test_claims_without_a_volume(void **state)
{
	struct rig *rig = *state;
	unsigned moved = 0;

	(void)cluster_set_pod(rig->cluster, "p", "", CLAIM("data"), "{}");
	assert_string_equal(decide(rig, "p"),
			    "0/2 nodes are available: persistentvolumeclaim \"data\" "
			    "not found." HELPLESS);
	set(rig->cluster, 'c', "data", "", "{'storageClassName':'late'}");
	assert_string_equal(decide(rig, "p"),
			    "0/2 nodes are available: pod has unbound immediate "
			    "PersistentVolumeClaims." HELPLESS);
	set_class(rig->cluster, "WaitForFirstConsumer");
	assert_string_equal(
		decide(rig, "p"),
		"0/2 nodes are available: persistentvolumeclaim \"data\" waits for its "
		"first consumer, and neap binds no claims: name a volume in its "
		"spec.volumeName." HELPLESS);
	set_class(rig->cluster, "Immediate");
	assert_string_equal(decide(rig, "p"),
			    "0/2 nodes are available: pod has unbound immediate "
			    "PersistentVolumeClaims." HELPLESS);
	/* The volume is another's. */
	set(rig->cluster, 'c', "data", "", "{'volumeName':'disk'}");
	set(rig->cluster, 'v', "disk", "",
	    "{'claimRef':{'namespace':'default','name':'other'}}");
	assert_string_equal(decide(rig, "p"),
			    "0/2 nodes are available: pod has unbound immediate "
			    "PersistentVolumeClaims." HELPLESS);
	set(rig->cluster, 'v', "disk", "",
	    "{'claimRef':{'namespace':'default','name':'data','uid':'u-before'}}");
	assert_string_equal(decide(rig, "p"),
			    "0/2 nodes are available: pod has unbound immediate "
			    "PersistentVolumeClaims." HELPLESS);
	set(rig->cluster, 'v', "disk", "",
	    "{'claimRef':{'namespace':'default','name':'data','uid':'u-data'}}");
	assert_string_equal(decide(rig, "p"), "b");
	set(rig->cluster, 'c', "data", "'deletionTimestamp':'2026-01-01T00:00:00Z'",
	    "{'volumeName':'disk'}");
	assert_string_equal(decide(rig, "p"),
			    "0/2 nodes are available: persistentvolumeclaim \"data\" is "
			    "being deleted." HELPLESS);
	neap_cluster_remove_claim(rig->cluster, "default", "data", &moved);
	assert_int_equal(moved, NEAP_MOVED_VOLUMES);
	assert_string_equal(decide(rig, "p"),
			    "0/2 nodes are available: persistentvolumeclaim \"data\" "
			    "not found." HELPLESS);
}

/* Named after the pod and the volume, and owned by the pod. */
static void test_ephemeral_volumes(void **state)
{
	struct rig *rig = *state;

	(void)cluster_set_pod(rig->cluster, "p", "",
			      "{'containers':[{}],'volumes':[{'name':'tmp','ephemeral':{"
			      "'volumeClaimTemplate':{}}}]}",
			      "{}");
	assert_string_equal(decide(rig, "p"),
			    "0/2 nodes are available: waiting for ephemeral volume "
			    "controller to create the persistentvolumeclaim "
			    "\"p-tmp\"." HELPLESS);
	set(rig->cluster, 'v', "disk", "", "{" ONLY("kubernetes.io/hostname", "a") "}");
	set(rig->cluster, 'c', "p-tmp",
	    "'ownerReferences':[{'uid':'u-p'},{'uid':'u-x','controller':true}]",
	    "{'volumeName':'disk'}");
	assert_string_equal(decide(rig, "p"),
			    "0/2 nodes are available: PVC \"default/p-tmp\" was not "
			    "created for pod \"default/p\" (pod is not owner)." HELPLESS);
	set(rig->cluster, 'c', "p-tmp",
	    "'ownerReferences':[{'uid':'u-p','controller':true}]",
	    "{'volumeName':'disk'}");
	assert_string_equal(decide(rig, "p"), "a");
}

static void test_zones_of_volumes(void **state)
{
	struct rig *rig = *state;

	set(rig->cluster, 'c', "data", "", "{'volumeName':'disk'}");
	(void)cluster_set_pod(rig->cluster, "p", "", CLAIM("data"), "{}");
	set(rig->cluster, 'v', "disk", "'labels':{'topology.kubernetes.io/zone':'1'}",
	    "{}");
	assert_string_equal(decide(rig, "p"), "a");
	set(rig->cluster, 'v', "disk",
	    "'labels':{'failure-domain.beta.kubernetes.io/zone':'0__2'}", "{}");
	assert_string_equal(decide(rig, "p"), "b");
	set(rig->cluster, 'v', "disk", "'labels':{'topology.kubernetes.io/zone':'3'}",
	    "{}");
	assert_string_equal(decide(rig, "p"),
			    "0/2 nodes are available: 2 node(s) had no available volume "
			    "zone." HELPLESS);
	(void)cluster_set_node(rig->cluster, "c", "", "{}", "'cpu':'1','pods':'9'");
	assert_string_equal(decide(rig, "p"), "c");
}

/* The more important pod may take it from the other. */
static void test_claims_of_one_pod(void **state)
{
	struct rig *rig = *state;

	set(rig->cluster, 'v', "disk", "", "{}");
	set(rig->cluster, 'c', "data", "",
	    "{'volumeName':'disk','accessModes':['ReadWriteOncePod']}");
	(void)cluster_set_pod(rig->cluster, "p", "", CLAIM("data"), "{}");
	assert_string_equal(decide(rig, "p"), "b");
	(void)cluster_set_pod(
		rig->cluster, "first", "",
		"{'nodeName':'a','volumes':[{'persistentVolumeClaim':{'claimName':"
		"'data'}}]}",
		"{}");
	assert_string_equal(
		decide(rig, "p"),
		"0/2 nodes are available: 2 node has pod using PersistentVolumeClaim with "
		"the same name and ReadWriteOncePod access mode. preemption: 0/2 nodes "
		"are available: 2 No preemption victims found for incoming pod.");
	(void)cluster_set_pod(rig->cluster, "urgent", "",
			      "{'priority':5,'volumes':[{'persistentVolumeClaim':{"
			      "'claimName':'data'}}]}",
			      "{}");
	assert_int_equal(decide(rig, "urgent")[0], '+');
	set(rig->cluster, 'c', "data", "",
	    "{'volumeName':'disk','accessModes':['ReadWriteMany']}");
	assert_string_equal(decide(rig, "p"), "b");
}

/* Whatever is not there any more leaves all as it was. */
static void test_no_memory(void **state)
{
	struct rig *rig = *state;
	struct neap_object *volume = cluster_object(
		"disk", "", "", "{" ONLY("kubernetes.io/hostname", "a") "}", "{}");
	struct neap_object *claim =
		cluster_object("data", "default", "", "{'volumeName':'disk'}", "{}");
	struct neap_choice choice;
	struct neap_error err = {0};
	unsigned moved = 0;
	bool was_short = false;
	int ret;

	for (uint64_t n = 1; n < 60; n++) {
		neap_mem_fail_at(n);
		ret = neap_cluster_set_volume(rig->cluster, volume, &moved, &err);
		if (ret == 0)
			ret = neap_cluster_set_claim(rig->cluster, claim, &moved, &err);
		neap_mem_fail_at(0);
		if (ret < 0)
			assert_int_equal(ret, -NEAP_ENOMEM);
		was_short |= ret < 0;
	}
	assert_true(was_short);
	(void)cluster_set_pod(rig->cluster, "p", "", CLAIM("data"), "{}");
	for (uint64_t n = 1; n < 60; n++) {
		neap_mem_fail_at(n);
		ret = neap_decide_pod(rig->decide,
				      neap_cluster_find_pod(rig->cluster, "default", "p"),
				      &choice, &err);
		neap_mem_fail_at(0);
		if (ret > 0)
			assert_string_equal(choice.node, "a");
		else
			assert_int_equal(ret, -NEAP_ENOMEM);
	}
	assert_int_equal(ret, 1);
	(void)neap_object_unref(volume);
	(void)neap_object_unref(claim);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(only_where_the_volume_is), TEST(claims_without_a_volume),
		TEST(ephemeral_volumes),        TEST(zones_of_volumes),
		TEST(claims_of_one_pod),        TEST(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
