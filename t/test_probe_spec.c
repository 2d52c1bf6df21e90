/* SPDX-License-Identifier: Apache-2.0
 *
 * What probes can ask here, and the requests that they make. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "t/lib/probe_rig.h"

static const char ports_text[] = "[{'name':'web','containerPort':8080},"
				 "{'name':'80','containerPort':81}]";

static const struct {
	const char *name, *spec, *field;
	int want;
} checks[] = {
	{"a command", "{'exec':{'command':['true']}}", "", 0},
	{"no command", "{'exec':{'command':[]}}", "exec.command", NEAP_EINVAL},
	{"nothing", "{}", "", NEAP_EINVAL},
	{"a port", "{'tcpSocket':{'port':80}}", "", 0},
	{"no port", "{'tcpSocket':{}}", "tcpSocket.port", NEAP_EINVAL},
	{"port 0", "{'tcpSocket':{'port':0}}", "tcpSocket.port", NEAP_EINVAL},
	{"port 65536", "{'tcpSocket':{'port':65536}}", "tcpSocket.port", NEAP_EINVAL},
	{"a name", "{'tcpSocket':{'port':'web'}}", "", 0},
	{"a name that is none", "{'tcpSocket':{'port':'wep'}}", "tcpSocket.port",
	 NEAP_EINVAL},
	{"a number as text", "{'tcpSocket':{'port':'70'}}", "", 0},
	{"localhost", "{'tcpSocket':{'host':'localhost','port':70}}", "", 0},
	{"::1", "{'httpGet':{'host':'::1','port':70}}", "", 0},
	{"another host", "{'tcpSocket':{'host':'10.0.0.1','port':70}}", "tcpSocket.host",
	 NEAP_EUNSUPPORTED},
	{"a name of a host", "{'httpGet':{'host':'example.org','port':70}}",
	 "httpGet.host", NEAP_EUNSUPPORTED},
	{"of this machine, but not this address",
	 "{'httpGet':{'host':'127.0.0.2','port':70}}", "httpGet.host", NEAP_EUNSUPPORTED},
	{"HTTPS", "{'httpGet':{'scheme':'HTTPS','port':70}}", "httpGet.scheme",
	 NEAP_EUNSUPPORTED},
	{"HTTP", "{'httpGet':{'scheme':'HTTP','port':70}}", "", 0},
	{"a header that ends a line",
	 "{'httpGet':{'port':70,'httpHeaders':[{'name':'A','value':'b'},"
	 "{'name':'B','value':'b\\r\\nC: d'}]}}",
	 "httpGet.httpHeaders[1]", NEAP_EINVAL},
	{"a name of a header that is two",
	 "{'httpGet':{'port':70,'httpHeaders':[{'name':'A: b\\r\\nC','value':'b'}]}}",
	 "httpGet.httpHeaders[0]", NEAP_EINVAL},
	{"gRPC", "{'grpc':{'port':70}}", "grpc", NEAP_EUNSUPPORTED},
};

static void what_can_be_asked(void **state)
{
	json_t *ports = probe_rig_json(ports_text);

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(checks); i++) {
		json_t *spec = probe_rig_json(checks[i].spec);
		struct neap_error err = {0};
		int rc = neap_probe_check(spec, ports, &err);

		if (rc != -checks[i].want || strcmp(err.field, checks[i].field) != 0 ||
		    (rc < 0 && !*err.msg))
			fail_msg("%s: %d %s: %s", checks[i].name, rc, err.field, err.msg);
		json_decref(spec);
	}
	json_decref(ports);
}

/* Of targets, what goes over the wire. */
static void requests(void **state)
{
	static const struct {
		const char *spec, *want;
		int port;
	} cases[] = {
		{"{'httpGet':{'port':'web','path':'/healthz?a=b c#d'}}",
		 "GET /healthz?a=b%20c HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n"
		 "User-Agent: kube-probe/1.31\r\nAccept: */*\r\nConnection: "
		 "close\r\n\r\n",
		 8080},
		{"{'httpGet':{'port':'80','path':'\xc3\xa4','host':'::1','httpHeaders':["
		 "{'name':'host','value':'x'},{'name':'X-A','value':'1'},"
		 "{'name':'x-a','value':'2'},{'name':'accept','value':''},"
		 "{'name':'Connection','value':'keep-alive'}]}}",
		 "GET /%C3%A4 HTTP/1.1\r\nUser-Agent: kube-probe/1.31\r\nhost: x\r\n"
		 "X-A: 1\r\nx-a: 2\r\nConnection: close\r\n\r\n",
		 81},
	};
	json_t *ports = probe_rig_json(ports_text);

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(cases); i++) {
		json_t *json = probe_rig_json(cases[i].spec);
		struct probe_spec spec;
		struct neap_error err;

		if (probe_spec_init(&spec, json, ports, 1, &err) < 0)
			fail_msg("%s", err.msg);
		assert_string_equal(spec.target.request, cases[i].want);
		assert_int_equal(spec.target.port, cases[i].port);
		probe_spec_done(&spec);
		json_decref(json);
	}
	json_decref(ports);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_can_be_asked),
		cmocka_unit_test(requests),
	};

	neap_json_setup();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
