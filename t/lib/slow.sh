# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Requests about very many objects, for t/attack/slow.t and the bench row P33: what they
# ask for, and how late somebody else's small request is meanwhile. BUILD; SLOW_MANY (300)
# clients at once where there are many, and SLOW_MS (1000) for which they read what has no
# end.

# name | clients | milliseconds that are read (0: to the end) | status | method | path |
# table (its Accept), or a body | path that is to be gone
slow_table()
{
	local many=${SLOW_MANY:-300}
	cat <<-ROWS
	list|1|0|200|GET|/api/v1/pods||
	16 lists|16|0|200|GET|/api/v1/pods||
	list by a label|1|0|200|GET|/api/v1/pods?labelSelector=app%3Dnone||
	list by a field|1|0|200|GET|/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-00017||
	a page|1|0|200|GET|/api/v1/pods?limit=500||
	Table|1|0|200|GET|/api/v1/pods|table|
	16 Tables of objects|16|${SLOW_MS:-1000}|200|GET|/api/v1/pods?includeObject=Object|table|
	Table of a declared kind|1|0|200|GET|/apis/example.com/v1/widgets|table|
	events as of events.k8s.io|1|0|200|GET|/apis/events.k8s.io/v1/events||
	first list of a watch|1|500|200|GET|/api/v1/pods?watch=1||
	first lists of $many|$many|${SLOW_MS:-1000}|200|GET|/api/v1/pods?watch=1||
	first Tables of $many|$many|${SLOW_MS:-1000}|200|GET|/api/v1/pods?watch=1|table|
	first lists of nothing|$many|500|200|GET|/api/v1/pods?watch=1&labelSelector=app%3Dnone||
	a pod for each of $many|$many|0|200|GET|/api/v1/namespaces/web/pods/pod-000001||
	100 explanations|100|0|200|GET|/control/v1/explain/pods/web/pod-000001?limit=500||
	CPUs of nodes for 100|100|0|200|GET|/control/v1/cpus?limit=50||
	discovery for 100|100|0|200|GET|/apis||
	OpenAPI for 100|100|0|200|GET|/openapi/v2||
	metrics|1|0|200|GET|/metrics||
	policies|1|0|200|GET|/control/v1/policies||
	a backup begins|1|0|200|POST|/control/v1/store/backups||
	eviction|1|0|201|POST|/api/v1/namespaces/web/pods/pod-000001/eviction|{"metadata":{"name":"pod-000001"}}|
	an owner of a third goes|1|0|200|DELETE|/apis/apps/v1/namespaces/web/replicasets/own||/api/v1/namespaces/web/pods/pod-000000
	a node goes|1|0|200|DELETE|/api/v1/nodes/node-00003||
	a declared kind goes|1|0|200|DELETE|/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com||/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com
	a collection goes|1|0|200|DELETE|/api/v1/namespaces/batch/pods||
	a namespace goes|1|0|200|DELETE|/api/v1/namespaces/web||/api/v1/namespaces/web
	ROWS
}

# slow_each SOCKET FUNCTION: calls FUNCTION NAME, STATUS that is wanted, STATUS, the
# other's slowest answer and the time of the request in milliseconds.
slow_each()
{
	local name count ms want method path body until accept late took status
	while IFS='|' read -r name count ms want method path body until; do
		accept='*/*'
		if [ "$body" = table ]; then
			accept='application/json;as=Table;v=v1;g=meta.k8s.io,application/json'
			body=''
		fi
		read -r late took status _ < <(LATE_UNTIL=$until "$BUILD/t/attack/slow" "$1" "$count" "$ms" \
			"$method" "$path" "$accept" "$body")
		"$2" "$name" "$want" "${status:-none}" "${late:--1}" "${took:--1}"
	done < <(slow_table)
}

# slow_turns SOCKET LIMIT: turns of the loop up to now that took longer, in CPU time;
# LIMIT in seconds, a bound of the histogram.
slow_turns()
{
	curl -sS --unix-socket "$1" http://neap/metrics | awk -v bucket="neap_loop_turn_cpu_seconds_bucket{le=\"$2\"}" '
		$1 == bucket { below = $2; found = 1 }
		$1 == "neap_loop_turn_cpu_seconds_count" { all = $2 }
		END { print found ? all - below : -1 }'
}
