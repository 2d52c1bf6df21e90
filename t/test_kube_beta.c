/* SPDX-License-Identifier: Apache-2.0
 *
 * Definitions in apiextensions.k8s.io/v1beta1: they are stored, shown and served as those
 * of v1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <event2/event.h>

#include "engine/base/mem.h"
#include "t/lib/declared_rig.h"

#define BETA "/apis/apiextensions.k8s.io/v1beta1/customresourcedefinitions"
#define STEPS(rig, ...)                                                                  \
	kube_steps(rig, (const struct kube_step[]){__VA_ARGS__},                         \
		   NEAP_ARRAY_LEN(((const struct kube_step[]){__VA_ARGS__})))
#define UNTIL(rig, ...) kube_until(rig, &(const struct kube_step){__VA_ARGS__})
#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, kube_rig_setup, kube_rig_teardown)
#define BODY(more)                                                                        \
	"{'apiVersion':'apiextensions.k8s.io/v1beta1','kind':'CustomResourceDefinition'," \
	"'metadata':{'name':'widgets.example.com'},'spec':{'group':'example.com',"        \
	"'scope':'Namespaced','names':{'plural':'widgets','kind':'Widget'}," more "}}"
#define ONE "/widgets.example.com"

/* The shortest one: no schema, and nothing is pruned. */
static void test_shortest(void **state)
{
	struct kube_rig *rig = *state;

	STEPS(rig,
	      {"POST " BETA,
	       BODY("'version':'v1'"),
	       201,
	       {"apiVersion=apiextensions.k8s.io/v1beta1", "!spec.version",
		"!spec.preserveUnknownFields",
		"spec.versions=[{\"name\":\"v1\",\"schema\":{\"openAPIV3Schema\":{"
		"\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}},"
		"\"served\":true,\"storage\":true}]"}});
	assert_non_null(strstr(rig->head, "Warning: 299 - \"apiextensions.k8s.io/v1beta1 "
					  "CustomResourceDefinition is deprecated"));
	UNTIL(rig, "GET " GROUP, NULL, 200, {"resources.0.name=widgets"});
	STEPS(rig, {"GET " CRDS ONE, NULL, 200, {"apiVersion=apiextensions.k8s.io/v1"}},
	      {"GET " BETA ONE, NULL, 200, {"apiVersion=apiextensions.k8s.io/v1beta1"}},
	      {"POST " WIDGETS,
	       "{'metadata':{'name':'a'},'other':{'deep':1}}",
	       201,
	       {"other.deep=1"}},
	      /* What is there already is no new definition. */
	      {"MERGE " BETA ONE,
	       "{'metadata':{'labels':{'a':'b'}},'spec':{'version':'v1'}}",
	       200,
	       {"metadata.generation=1", "metadata.labels.a=b"}},
	      {"MERGE " BETA ONE,
	       "{'spec':{'version':'v2'}}",
	       422,
	       {"details.causes.0.field=spec.version"}});
}

/* What stands beside the versions is in each of them. */
static void test_shared(void **state)
{
	struct kube_rig *rig = *state;

	STEPS(rig,
	      {"POST " BETA,
	       BODY("'preserveUnknownFields':false,'versions':["
		    "{'name':'v1','served':true,'storage':true},"
		    "{'name':'v2','served':true,'storage':false}],"
		    "'additionalPrinterColumns':[{'name':'Size','type':'integer',"
		    "'JSONPath':'.spec.size'}],'subresources':{'status':{}},"
		    "'validation':{'openAPIV3Schema':{'type':'object','properties':{"
		    "'spec':{'type':'object','properties':{'size':{'type':'integer'}}}}}}"),
	       201,
	       {"!spec.validation", "!spec.subresources",
		"!spec.additionalPrinterColumns",
		"spec.versions.1.additionalPrinterColumns.0.jsonPath=.spec.size",
		"!spec.versions.1.additionalPrinterColumns.0.JSONPath",
		"spec.versions.0.subresources.status={}",
		"spec.versions.1.schema.openAPIV3Schema.properties.spec.properties.size."
		"type=integer"}});
	UNTIL(rig, "GET " GROUP, NULL, 200, {"resources.0.name=widgets"});
	STEPS(rig,
	      {"POST " WIDGETS,
	       "{'metadata':{'name':'a'},'spec':{'other':1}}",
	       201,
	       {"!spec.other"}},
	      {"POST " WIDGETS,
	       "{'metadata':{'name':'b'},'spec':{'size':'x'}}",
	       422,
	       {"details.causes.0.field=spec.size"}});
}

/* Checked by its schema, pruned by none. */
static void test_keeping(void **state)
{
	struct kube_rig *rig = *state;

	STEPS(rig, {"POST " BETA,
		    BODY("'version':'v1','validation':{'openAPIV3Schema':{'properties':{"
			 "'spec':{'type':'object','properties':{'size':{'type':"
			 "'integer'}}}}}}"),
		    201,
		    {NULL}});
	UNTIL(rig, "GET " GROUP, NULL, 200, {"resources.0.name=widgets"});
	STEPS(rig,
	      {"POST " WIDGETS,
	       "{'metadata':{'name':'a'},'spec':{'other':1},'more':2}",
	       201,
	       {"spec.other=1", "more=2"}},
	      {"POST " WIDGETS,
	       "{'metadata':{'name':'b'},'spec':{'size':'x'}}",
	       422,
	       {"details.causes.0.field=spec.size"}});
}

static void test_refused(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " BETA,
		 BODY("'scale':{}"),
		 422,
		 {"details.causes.0.field=spec.versions"}},
		{"POST " BETA, BODY("'version':5"), 400, {NULL}},
		{"POST " BETA,
		 BODY("'version':'v1','validation':{'openAPIV3Schema':{'type':'array'}}"),
		 422,
		 {NULL}},
		/* Each version has its forms only. */
		{"POST " CRDS "?fieldValidation=Strict",
		 "{'apiVersion':'apiextensions.k8s.io/v1','kind':"
		 "'CustomResourceDefinition','metadata':{'name':'widgets.example.com'},"
		 "'spec':{'version':'v1'}}",
		 400,
		 {"message~unknown field"}},
	};

	kube_steps(*state, steps, NEAP_ARRAY_LEN(steps));
}

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(shortest), TEST(shared), TEST(keeping),
					   TEST(refused)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
