/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules for pods: each kept and broken, with what is told exactly; and without
 * memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/json/json.h"
#include "t/lib/rules_rig.h"

#define LABEL_RULE                                                                          \
	"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or " \
	"'-', and must start and end with an alphanumeric character (e.g. 'my-name',  or "  \
	"'123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
#define ENV_RULE                                                                           \
	"a valid environment variable name must consist of alphabetic characters, "        \
	"digits, '_', '-', or '.', and must not start with a digit (e.g. 'my.env-name',  " \
	"or 'MY_ENV.NAME',  or 'MyEnvName1', regex used for validation is "                \
	"'[-._a-zA-Z][-._a-zA-Z0-9]*')"
#define IP            "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
#define C0            "spec.containers[0]."
#define SYSCTLS(list) "spec/securityContext={'sysctls':[" list "]}"

static const struct rules_row containers[] = {
	{"Pod", "", NULL, ""},
	{"Pod", "spec/containers=[]; spec/initContainers=[]", NULL,
	 "spec.containers: Required value"},
	{"Pod", "spec/containers-", NULL, "spec.containers: Required value"},
	{"Pod", "@name='Main'", NULL, C0 "name: Invalid value: \"Main\": " LABEL_RULE},
	{"Pod", "@name=''", NULL, C0 "name: Required value"},
	{"Pod", "@name-", NULL, C0 "name: Required value"},
	{"Pod", "spec/containers/1={'name':'main','image':'a'}", NULL,
	 "spec.containers[1].name: Duplicate value: \"main\""},
	{"Pod", "spec/initContainers/0/name='main'", NULL,
	 "spec.initContainers[0].name: Duplicate value: \"main\""},
	{"Pod", "@image-", NULL, C0 "image: Required value"},
	{"Pod", "@image=''", NULL, C0 "image: Required value"},
	{"Pod", "@image=' nginx'", NULL,
	 C0 "image: Invalid value: \" nginx\": must not have leading or trailing "
	    "whitespace"},
	{"Pod", "@restartPolicy='Always'", NULL,
	 C0 "restartPolicy: Forbidden: may not be set for non-init containers"},
	{"Pod", "spec/initContainers/0/livenessProbe={'exec':{'command':['a']}}", NULL,
	 "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init "
	 "containers without restartPolicy=Always"},
	{"Pod", "spec/ephemeralContainers=[{'name':'look','image':'a'}]", NULL,
	 "spec.ephemeralContainers: Forbidden: cannot be set on create"},
	{"Pod", "@securityContext={'runAsUser':-1}", NULL,
	 C0 "securityContext.runAsUser: Invalid value: -1: must be between 0 and "
	    "2147483647, inclusive"},
	{"Pod", "@securityContext={'privileged':true,'allowPrivilegeEscalation':false}",
	 NULL,
	 C0 "securityContext.allowPrivilegeEscalation: Invalid value: false: cannot set "
	    "`allowPrivilegeEscalation` to false and `privileged` to true"},
	/* environment */
	{"Pod", "@env/0/name='1A'", NULL,
	 C0 "env[0].name: Invalid value: \"1A\": " ENV_RULE},
	{"Pod", "@env/0/name='..'", NULL,
	 C0 "env[0].name: Invalid value: \"..\": must not be '..'"},
	{"Pod", "@env/0/name=''", NULL, C0 "env[0].name: Required value"},
	{"Pod", "@env/1/value='a'", NULL,
	 C0 "env[1].valueFrom: Invalid value: \"\": may not be specified when `value` is "
	    "not empty"},
	{"Pod", "@env/0/valueFrom={}; @env/0/value=''", NULL,
	 C0 "env[0].valueFrom: Invalid value: \"\": must specify one of: `fieldRef`, "
	    "`resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"},
	{"Pod", "@env/1/valueFrom/secretKeyRef={'name':'a','key':'b'}", NULL,
	 C0 "env[1].valueFrom: Invalid value: \"\": may not have more than one field "
	    "specified at a time"},
	{"Pod", "@env/1/valueFrom/fieldRef/fieldPath='metadata.labels[\\u0027a\\u0027]'",
	 NULL, ""},
	{"Pod", "@env/1/valueFrom/fieldRef/fieldPath='spec.x'", NULL,
	 C0 "env[1].valueFrom.fieldRef.fieldPath: Unsupported value: \"spec.x\": "
	    "supported values: \"metadata.name\", \"metadata.namespace\", "
	    "\"metadata.uid\", \"spec.nodeName\", \"spec.serviceAccountName\", "
	    "\"status.hostIP\", \"status.hostIPs\", \"status.podIP\", \"status.podIPs\""},
	{"Pod", "@env/2/valueFrom/resourceFieldRef/resource='cpu'", NULL,
	 C0 "env[2].valueFrom.resourceFieldRef.resource: Unsupported value: \"cpu\": "
	    "supported values: \"limits.cpu\", \"limits.ephemeral-storage\", "
	    "\"limits.memory\", \"requests.cpu\", \"requests.ephemeral-storage\", "
	    "\"requests.memory\""},
	{"Pod", "@env/3/valueFrom/secretKeyRef/key='a/b'", NULL,
	 C0 "env[3].valueFrom.secretKeyRef.key: Invalid value: \"a/b\": a valid config "
	    "key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
	    "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
	    "'[-._a-zA-Z0-9]+')"},
	{"Pod", "@envFrom=[{'prefix':'A_'}]", NULL,
	 C0 "envFrom[0]: Invalid value: \"\": must specify one of: `configMapRef` or "
	    "`secretRef`"},
	{"Pod", "@envFrom=[{'secretRef':{}}]", NULL,
	 C0 "envFrom[0].secretRef.name: Required value"},
	/* ports */
	{"Pod", "@ports/0/containerPort=65535", NULL, ""},
	{"Pod", "@ports/0/containerPort=65536", NULL,
	 C0 "ports[0].containerPort: Invalid value: 65536: must be between 1 and 65535, "
	    "inclusive"},
	{"Pod", "@ports/0/containerPort=0", NULL,
	 C0 "ports[0].containerPort: Required value"},
	{"Pod", "@ports/0/name='a--b'", NULL,
	 C0 "ports[0].name: Invalid value: \"a--b\": must not contain consecutive "
	    "hyphens"},
	{"Pod", "@ports/0/name='0123456789abcdef'", NULL,
	 C0 "ports[0].name: Invalid value: \"0123456789abcdef\": must be no more than 15 "
	    "characters"},
	{"Pod", "@ports/0/name='80'", NULL,
	 C0 "ports[0].name: Invalid value: \"80\": must contain at least one letter "
	    "(a-z)"},
	{"Pod", "@ports/1/name='http'", NULL,
	 C0 "ports[1].name: Duplicate value: \"http\""},
	{"Pod", "@ports/2={'containerPort':54,'hostPort':5353,'protocol':'UDP'}", NULL,
	 C0 "ports[2].hostPort: Duplicate value: \"UDP//5353\""},
	{"Pod", "@ports/2={'containerPort':54,'hostPort':5353}", NULL, ""},
	{"Pod", "spec/hostNetwork=true; @ports/1/hostPort=53", NULL, ""},
	{"Pod", "spec/hostNetwork=true", NULL,
	 C0 "ports[1].hostPort: Invalid value: 5353: must match `containerPort` when "
	    "`hostNetwork` is true"},
	/* resources */
	{"Pod", "@resources/requests/cpu='2'", NULL, ""},
	{"Pod", "@resources/requests/cpu='2001m'", NULL,
	 C0 "resources.requests: Invalid value: \"2001m\": must be less than or equal to "
	    "cpu limit of 2"},
	{"Pod", "@resources/requests/cpu='1e30'", NULL,
	 C0 "resources.requests: Invalid value: \"1e30\": must be less than or equal to "
	    "cpu limit of 2"},
	{"Pod", "@resources/requests/cpu='1e30'; @resources/limits/cpu='1000000e24'",
	 NULL, ""},
	{"Pod", "@resources/requests/memory='1537Mi'", NULL,
	 C0
	 "resources.requests: Invalid value: \"1537Mi\": must be less than or equal to "
	 "memory limit of 1.5Gi"},
	{"Pod", "@resources/requests/cpu='-1'", NULL,
	 C0 "resources.requests[cpu]: Invalid value: \"-1\": must be greater than or "
	    "equal to 0"},
	{"Pod", "@resources/requests/example.com~1gpu=2", NULL,
	 C0
	 "resources.requests: Invalid value: 2: must be equal to example.com/gpu limit "
	 "of 1"},
	{"Pod", "@resources/limits/example.com~1gpu='500m'", NULL,
	 C0 "resources.limits[example.com/gpu]: Invalid value: \"500m\": must be an "
	    "integer\n" C0
	    "resources.requests[example.com/gpu]: Invalid value: \"500m\": must be an "
	    "integer"},
	{"Pod", "@resources/requests/example.com~1fpga=1", NULL,
	 C0 "resources.limits: Required value: Limit must be set for non overcommitable "
	    "resources"},
	{"Pod", "@resources/limits/disk=1", NULL,
	 C0
	 "resources.limits[disk]: Invalid value: \"disk\": must be a standard resource "
	 "type or fully qualified\n" C0
	 "resources.limits[disk]: Invalid value: \"disk\": must be a standard resource "
	 "for containers\n" C0
	 "resources.requests[disk]: Invalid value: \"disk\": must be a standard "
	 "resource type or fully qualified\n" C0
	 "resources.requests[disk]: Invalid value: \"disk\": must be a standard "
	 "resource for containers"},
	{"Pod", "@resources={'limits':{'hugepages-2Mi':'4Mi','cpu':1}}", NULL, ""},
	{"Pod", "@resources={'limits':{'hugepages-2Mi':'4Mi'}}", NULL,
	 C0 "resources: Forbidden: HugePages require cpu or memory"},
	/* probes */
	{"Pod", "@livenessProbe/httpGet/port=0", NULL,
	 C0 "livenessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, "
	    "inclusive"},
	{"Pod", "@livenessProbe/httpGet/port='HTTP'", NULL,
	 C0 "livenessProbe.httpGet.port: Invalid value: \"HTTP\": must contain only "
	    "alpha-numeric characters (a-z, 0-9), and hyphens (-)"},
	{"Pod", "@livenessProbe/httpGet/httpHeaders=[{'name':'a b','value':''}]", NULL,
	 C0 "livenessProbe.httpGet.httpHeaders[0].name: Invalid value: \"a b\": a valid "
	    "HTTP header must consist of alphanumeric characters or '-' (e.g. "
	    "'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')"},
	{"Pod", "@livenessProbe/httpGet-", NULL,
	 C0 "livenessProbe: Required value: must specify a handler type"},
	{"Pod", "@livenessProbe/exec={'command':['a']}", NULL,
	 C0 "livenessProbe.httpGet: Forbidden: may not specify more than 1 handler type"},
	{"Pod", "@livenessProbe/periodSeconds=-1", NULL,
	 C0 "livenessProbe.periodSeconds: Invalid value: -1: must be greater than or "
	    "equal to 0"},
	{"Pod", "@livenessProbe/successThreshold=2", NULL,
	 C0 "livenessProbe.successThreshold: Invalid value: 2: must be 1"},
	{"Pod", "@livenessProbe/terminationGracePeriodSeconds=0", NULL,
	 C0 "livenessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be "
	    "greater than 0"},
	{"Pod", "@readinessProbe/terminationGracePeriodSeconds=5", NULL,
	 C0 "readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be "
	    "set for readinessProbes"},
	{"Pod", "@lifecycle/preStop/exec/command=[]", NULL,
	 C0 "lifecycle.preStop.exec.command: Required value"},
	{"Pod", "@lifecycle/preStop={'sleep':{'seconds':31}}", NULL,
	 C0 "lifecycle.preStop.sleep: Invalid value: 31: must be greater than 0 and less "
	    "than terminationGracePeriodSeconds (30)"},
	/* mounts */
	{"Pod", "@volumeMounts/0/name='none'", NULL,
	 C0 "volumeMounts[0].name: Not found: \"none\""},
	{"Pod", "@volumeMounts/0/mountPath='/etc/app'", NULL,
	 C0 "volumeMounts[1].mountPath: Invalid value: \"/etc/app\": must be unique"},
	{"Pod", "@volumeMounts/0/mountPath=''", NULL,
	 C0 "volumeMounts[0].mountPath: Required value"},
	{"Pod", "@volumeMounts/1/subPath='/app'", NULL,
	 C0 "volumeMounts[1].subPath: Invalid value: \"/app\": must be a relative path"},
	{"Pod", "@volumeMounts/1/subPath='a/../..'", NULL,
	 C0 "volumeMounts[1].subPath: Invalid value: \"a/../..\": must not contain '..'"},
	{"Pod", "@volumeMounts/1/subPath='a..b'", NULL, ""},
	{"Pod", "@volumeMounts/1/subPathExpr='a'", NULL,
	 C0 "volumeMounts[1].subPathExpr: Invalid value: \"a\": subPathExpr and subPath "
	    "are mutually exclusive"},
	/* volumes */
	{"Pod", "spec/volumes/2/name='data'", NULL,
	 "spec.volumes[2].name: Duplicate value: \"data\""},
	{"Pod", "spec/volumes/2/name='a.b'", NULL,
	 "spec.volumes[2].name: Invalid value: \"a.b\": " LABEL_RULE},
	{"Pod", "spec/volumes/2/hostPath={'path':'/a'}", NULL,
	 "spec.volumes[2].hostPath: Forbidden: may not specify more than 1 volume type"},
	{"Pod", "spec/volumes/2={'name':'tmp'}", NULL, ""},
	{"Pod", "spec/volumes/2={'name':'tmp','hostPath':{'path':'/a/..'}}", NULL,
	 "spec.volumes[2].hostPath.path: Invalid value: \"/a/..\": must not contain '..'"},
	{"Pod", "spec/volumes/2={'name':'tmp','secret':{}}", NULL,
	 "spec.volumes[2].secret.secretName: Required value"},
	{"Pod", "spec/volumes/0/persistentVolumeClaim/claimName=''", NULL,
	 "spec.volumes[0].persistentVolumeClaim.claimName: Required value"},
	{"Pod", "spec/volumes/1/configMap/items/0/path='../x'", NULL,
	 "spec.volumes[1].configMap.items[0].path: Invalid value: \"../x\": must not "
	 "contain '..'"},
	{"Pod", "spec/volumes/1/configMap/defaultMode=512", NULL,
	 "spec.volumes[1].configMap.defaultMode: Invalid value: 512: must be a number "
	 "between 0 and 0777 (octal), both inclusive"},
	{"Pod", "spec/volumes/2/emptyDir/sizeLimit='-1'", NULL,
	 "spec.volumes[2].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid "
	 "resource quantity"},
	{"Pod", "spec/volumes/3/downwardAPI/items/0/fieldRef-", NULL,
	 "spec.volumes[3].downwardAPI.items[0]: Required value: one of fieldRef and "
	 "resourceFieldRef is required"},
	{"Pod", "spec/volumes/4/ephemeral/volumeClaimTemplate/spec/resources={}", NULL,
	 "spec.volumes[4].ephemeral.volumeClaimTemplate.spec.resources[storage]: Required "
	 "value"},
};

#define NODES                                                                            \
	"spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/"     \
	"nodeSelectorTerms"
#define NODES_AT                                                                         \
	"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."     \
	"nodeSelectorTerms"
#define NEAR                                                                             \
	"spec/affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/0"
#define NEAR_AT                                                                          \
	"spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[" \
	"0]"

static const struct rules_row placement[] = {
	{"Pod", "spec/tolerations/0={'operator':'Exists'}", NULL, ""},
	{"Pod", "spec/tolerations/0={'effect':'NoSchedule'}", NULL,
	 "spec.tolerations[0].operator: Invalid value: \"\": operator must be Exists when "
	 "`key` is empty, which means \"match all values and all keys\""},
	{"Pod", "spec/tolerations/1/operator='Exists'", NULL,
	 "spec.tolerations[1].operator: Invalid value: "
	 "{\"key\":\"batch\",\"value\":\"yes\",\"effect\":\"NoSchedule\",\"operator\":"
	 "\"Exists\"}: value must be empty when `operator` is 'Exists'"},
	{"Pod", "spec/tolerations/0/effect='NoSchedule'", NULL,
	 "spec.tolerations[0].effect: Invalid value: \"NoSchedule\": effect must be "
	 "'NoExecute' when `tolerationSeconds` is set"},
	{"Pod", "spec/tolerations/1/operator='Like'", NULL,
	 "spec.tolerations[1].operator: Unsupported value: \"Like\": supported values: "
	 "\"\", \"Equal\", \"Exists\""},
	{"Pod", "spec/tolerations/1/key='a b'", NULL,
	 "spec.tolerations[1].key: Invalid value: \"a b\": name part must consist of "
	 "alphanumeric characters, '-', '_' or '.', and must start and end with an "
	 "alphanumeric character"},
	{"Pod", "spec/tolerations/1/value='a b'", NULL,
	 "spec.tolerations[1].operator: Invalid value: \"a b\": a valid label must be an "
	 "empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
	 "start and end with an alphanumeric character"},
	{"Pod", NODES "=[]", NULL,
	 NODES_AT ": Required value: must have at least one node selector term"},
	{"Pod", NODES "/0/matchExpressions/0/values=[]", NULL,
	 NODES_AT
	 "[0].matchExpressions[0].values: Required value: must be specified when "
	 "`operator` is 'In' or 'NotIn'"},
	{"Pod", NODES "/0/matchExpressions/0/operator='Exists'", NULL,
	 NODES_AT "[0].matchExpressions[0].values: Forbidden: may not be specified when "
		  "`operator` is 'Exists' or 'DoesNotExist'"},
	{"Pod", NODES "/0/matchExpressions/1/values=['1','2']", NULL,
	 NODES_AT "[0].matchExpressions[1].values: Required value: must be specified "
		  "single value when `operator` is 'Lt' or 'Gt'"},
	{"Pod", NODES "/0/matchFields/0/key='metadata.uid'", NULL,
	 NODES_AT "[0].matchFields[0].key: Invalid value: \"metadata.uid\": not a valid "
		  "field selector key"},
	{"Pod", NODES "/0/matchFields/0/values=['a','b']", NULL,
	 NODES_AT
	 "[0].matchFields[0].values: Required value: must be only one value when "
	 "`operator` is 'In' or 'NotIn' for node field selector"},
	{"Pod", NODES "/0/matchFields/0/operator='Gt'", NULL,
	 NODES_AT "[0].matchFields[0].operator: Invalid value: \"Gt\": not a valid "
		  "selector operator"},
	{"Pod", NEAR "/weight=0", NULL,
	 NEAR_AT ".weight: Invalid value: 0: must be in the range 1-100"},
	{"Pod", NEAR "/weight=101", NULL,
	 NEAR_AT ".weight: Invalid value: 101: must be in the range 1-100"},
	{"Pod", NEAR "/podAffinityTerm/topologyKey=''", NULL,
	 NEAR_AT ".podAffinityTerm.topologyKey: Required value: can not be empty"},
	{"Pod",
	 NEAR "/podAffinityTerm/labelSelector={'matchExpressions':[{'key':'a','operator':"
	      "'In'}]}",
	 NULL,
	 NEAR_AT ".podAffinityTerm.labelSelector.matchExpressions[0].values: Required "
		 "value: must be specified when `operator` is 'In' or 'NotIn'"},
	{"Pod",
	 NEAR "/podAffinityTerm/labelSelector={'matchExpressions':[{'key':'a','operator':"
	      "'Has'}]}",
	 NULL,
	 NEAR_AT ".podAffinityTerm.labelSelector.matchExpressions[0].operator: "
		 "Unsupported value: \"Has\": supported values: \"In\", \"NotIn\", "
		 "\"Exists\", \"DoesNotExist\""},
	{"Pod", NEAR "/podAffinityTerm/namespaces=['a.b']", NULL,
	 NEAR_AT ".podAffinityTerm.namespace: Invalid value: \"a.b\": " LABEL_RULE},
	{"Pod", "spec/topologySpreadConstraints/0/maxSkew=0", NULL,
	 "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater "
	 "than zero"},
	{"Pod", "spec/topologySpreadConstraints/1/minDomains=1", NULL,
	 "spec.topologySpreadConstraints[1].minDomains: Invalid value: 1: can only use "
	 "minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway"},
	{"Pod", "spec/topologySpreadConstraints/1/whenUnsatisfiable='DoNotSchedule'",
	 NULL,
	 "spec.topologySpreadConstraints[1].{topologyKey, whenUnsatisfiable}: Duplicate "
	 "value: \"{zone, DoNotSchedule}\""},
	{"Pod", "spec/topologySpreadConstraints/1/topologyKey=''", NULL,
	 "spec.topologySpreadConstraints[1].topologyKey: Required value: can not be "
	 "empty"},
	{"Pod", "spec/nodeSelector/disk='a b'", NULL,
	 "spec.nodeSelector: Invalid value: \"a b\": a valid label must be an empty "
	 "string or consist of alphanumeric characters, '-', '_' or '.', and must start "
	 "and end with an alphanumeric character"},
	{"Pod", "spec/nodeSelector/~1a='b'", NULL,
	 "spec.nodeSelector: Invalid value: \"/a\": prefix part must be non-empty"},
	{"Pod", "spec/terminationGracePeriodSeconds=0; spec/activeDeadlineSeconds=1",
	 NULL, ""},
	{"Pod", "spec/terminationGracePeriodSeconds=-1; @lifecycle-", NULL, ""},
	{"Pod",
	 SYSCTLS("{'name':'kernel.shm_rmid_forced','value':'0'},{'name':'net/a-b.c_d','value':'0'}"),
	 NULL, ""},
	{"Pod", SYSCTLS("{'name':'a.b','value':'0'},{'name':'a.b','value':'1'}"), NULL,
	 "spec.securityContext.sysctls[1].name: Duplicate value: \"a.b\""},
	{"Pod", SYSCTLS("{'name':'','value':'0'}"), NULL,
	 "spec.securityContext.sysctls[0].name: Required value"},
	{"Pod", SYSCTLS("{'name':'a..b','value':'0'}"), NULL,
	 "spec.securityContext.sysctls[0].name: Invalid value: \"a..b\": must have*"},
	{"Pod", SYSCTLS("{'name':'a.-b','value':'0'}"), NULL,
	 "spec.securityContext.sysctls[0].name: Invalid value: \"a.-b\": must have*"},
	{"Pod", SYSCTLS("{'name':'-a','value':'0'}"), NULL,
	 "spec.securityContext.sysctls[0].name: Invalid value: \"-a\": must have*"},
	{"Pod", SYSCTLS("{'name':'a/','value':'0'}"), NULL,
	 "spec.securityContext.sysctls[0].name: Invalid value: \"a/\": must have*"},
	{"Pod", SYSCTLS("{'name':'A','value':'0'}"), NULL,
	 "spec.securityContext.sysctls[0].name: Invalid value: \"A\": must have*"},
	{"Pod",
	 SYSCTLS("{'name':'net.core.somaxconn','value':'0'}") "; spec/hostNetwork=true; @ports-",
	 NULL,
	 "spec.securityContext.sysctls[0].name: Invalid value: \"net.core.somaxconn\": may "
	 "not be specified when 'hostNetwork' is true"},
	{"Pod", SYSCTLS("{'name':'kernel.sem','value':'0'}") "; spec/hostIPC=true", NULL,
	 "spec.securityContext.sysctls[0].name: Invalid value: \"kernel.sem\": may not be "
	 "specified when 'hostIPC' is true"},
	{"Pod", "spec/activeDeadlineSeconds=0", NULL,
	 "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, "
	 "inclusive"},
	{"Pod", "spec/hostname='a.b'", NULL,
	 "spec.hostname: Invalid value: \"a.b\": " LABEL_RULE},
	{"Pod", "spec/hostAliases=[{'ip':'10.0.0.1'},{'ip':'10.0.0.256'}]", NULL,
	 "spec.hostAliases[1].ip: Invalid value: \"10.0.0.256\": " IP},
	{"Pod", "spec/hostAliases=[{'ip':''}]", NULL,
	 "spec.hostAliases[0].ip: Invalid value: \"\": " IP},
	{"Pod", "spec/dnsPolicy='None'; spec/dnsConfig={'nameservers':['10.0.0.1']}",
	 NULL, ""},
	{"Pod", "spec/dnsPolicy='None'", NULL,
	 "spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is "
	 "None"},
	{"Pod", "spec/dnsPolicy='None'; spec/dnsConfig={}", NULL,
	 "spec.dnsConfig.nameservers: Required value: must provide at least one DNS "
	 "nameserver when `dnsPolicy` is None"},
	{"Pod", "spec/dnsConfig={'nameservers':['dns']}", NULL,
	 "spec.dnsConfig.nameservers[0]: Invalid value: \"dns\": " IP},
	{"Pod", "spec/schedulingGates=[{'name':'a.b/c'},{'name':'d'}]", NULL, ""},
	{"Pod", "spec/schedulingGates=[{'name':'a'},{'name':'a'}]", NULL,
	 "spec.schedulingGates[1]: Duplicate value: \"a\""},
	{"Pod", "spec/schedulingGates=[{'name':''}]", NULL,
	 "spec.schedulingGates[0]: Invalid value: \"\": name part must be non-empty"},
	{"Pod", "spec/schedulingGates=[{'name':'a'}]; spec/nodeName='node-1'", NULL,
	 "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been "
	 "cleared"},
	{"Pod", "spec/readinessGates=[{'conditionType':'a b'}]", NULL,
	 "spec.readinessGates[0].conditionType: Invalid value: \"a b\": name part must "
	 "consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
	 "an alphanumeric character"},
	{"Pod", "spec/overhead={'cpu':'-1m'}", NULL,
	 "spec.overhead[cpu]: Invalid value: \"-1m\": must be greater than or equal to 0"},
	{"Pod", "spec-", NULL, "spec.containers: Required value"},
};

#define UPDATE                                                                           \
	"spec: Forbidden: pod updates may not change fields other than "                 \
	"`spec.containers[*].image`,`spec.initContainers[*].image`,"                     \
	"`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "   \
	"tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if " \
	"it was previously negative)\n"
#define GATED "spec/schedulingGates=[{'name':'a'},{'name':'b'}]"

static const struct rules_row updates[] = {
	{"Pod", "", "", ""},
	{"Pod", "metadata/labels/x='y'; status/phase='Running'", "", ""},
	{"Pod", "@image='nginx'; spec/initContainers/0/image='b:1'",
	 "@imagePullPolicy='Always'; spec/initContainers/0/imagePullPolicy='IfNotPresent'",
	 ""},
	{"Pod", "spec/initContainers/0/tty=true", "",
	 UPDATE "spec.initContainers has changed"},
	{"Pod", "@image='registry.example.com/train:1.5'", "", ""},
	{"Pod", "spec/hostNetwork=false; @stdin=false; spec/hostAliases=[]", "", ""},
	{"Pod", "spec/nodeName='node-1'", "", UPDATE "spec.nodeName has changed"},
	{"Pod", "", "spec/nodeName='node-1'", UPDATE "spec.nodeName has changed"},
	{"Pod", "spec/nodeName='node-2'", "spec/nodeName='node-1'",
	 UPDATE "spec.nodeName has changed"},
	{"Pod", "spec/priority=1", "", UPDATE "spec.priority has changed"},
	{"Pod", "@args=['a']", "", UPDATE "spec.containers has changed"},
	{"Pod", "@resources/requests/cpu='600m'", "",
	 UPDATE "spec.containers has changed"},
	{"Pod", "spec/nodeSelector/gpu='a100'", "",
	 UPDATE "spec.nodeSelector has changed"},
	{"Pod", "spec/affinity-", "", UPDATE "spec.affinity has changed"},
	/* What is empty is not none, where Go has a pointer. */
	{"Pod", "spec/affinity={}", "spec/affinity-", UPDATE "spec.affinity has changed"},
	{"Pod", "@lifecycle={}", "@lifecycle-", UPDATE "spec.containers has changed"},
	{"Pod", "", "spec/dnsConfig={}", UPDATE "spec.dnsConfig has changed"},
	{"Pod", "spec/nodeSelector={}", "spec/nodeSelector-", ""},
	{"Pod", "spec/automountServiceAccountToken=false", "",
	 UPDATE "spec.automountServiceAccountToken has changed"},
	{"Pod", "spec/containers/1={'name':'more','image':'a'}", "",
	 "spec.containers: Forbidden: pod updates may not add or remove containers"},
	{"Pod", "spec/initContainers-", "",
	 "spec.initContainers: Forbidden: pod updates may not add or remove containers"},
	{"Pod", "spec/activeDeadlineSeconds=60", "", ""},
	{"Pod", "spec/activeDeadlineSeconds=60", "spec/activeDeadlineSeconds=61", ""},
	{"Pod", "spec/activeDeadlineSeconds=62", "spec/activeDeadlineSeconds=61",
	 "spec.activeDeadlineSeconds: Invalid value: 62: must be less than or equal to "
	 "previous value"},
	{"Pod", "", "spec/activeDeadlineSeconds=61",
	 "spec.activeDeadlineSeconds: Invalid value: null: must not update from a "
	 "positive integer to nil value"},
	{"Pod", "spec/tolerations/2={'operator':'Exists'}", "", ""},
	{"Pod", "spec/tolerations/0/tolerationSeconds=9", "", ""},
	{"Pod", "spec/tolerations/0-", "",
	 "spec.tolerations: Forbidden: existing toleration can not be modified except its "
	 "tolerationSeconds"},
	{"Pod", "spec/tolerations/1/value='no'", "",
	 "spec.tolerations: Forbidden: existing toleration can not be modified except its "
	 "tolerationSeconds"},
	{"Pod", "spec/terminationGracePeriodSeconds=1",
	 "spec/terminationGracePeriodSeconds=-1", ""},
	{"Pod", "spec/terminationGracePeriodSeconds=1", "",
	 UPDATE "spec.terminationGracePeriodSeconds has changed"},
	{"Pod", "spec/schedulingGates=[{'name':'b'}]", GATED, ""},
	{"Pod", "", GATED, ""},
	{"Pod", "spec/schedulingGates=[{'name':'b'},{'name':'c'}]", GATED,
	 "spec.schedulingGates: Forbidden: only deletion is allowed, but found new "
	 "scheduling gate 'c'"},
	{"Pod", GATED "; spec/nodeSelector/gpu='a100'", GATED, ""},
	{"Pod", GATED "; spec/nodeSelector={'gpu':'a100'}", GATED,
	 "spec.nodeSelector: Invalid value: {\"gpu\":\"a100\"}: only additions to "
	 "spec.nodeSelector are allowed (no mutations or deletions)"},
	{"Pod", GATED "; " NODES "/0/matchExpressions/2={'key':'x','operator':'Exists'}",
	 GATED, ""},
	{"Pod", GATED "; spec/affinity-", GATED,
	 "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
	 "nodeSelectorTerms: Invalid value: null: no additions/deletions to non-empty "
	 "NodeSelectorTerms list are allowed\n" UPDATE "spec.affinity has changed"},
};

#define QOS(text)        "metadata/labels/koordinator.sh~1qosClass='" text "'; "
#define CLASS(text)      "metadata/labels/koordinator.sh~1priority-class='" text "'; "
#define ASKS(text)       "spec/initContainers-; @resources={'requests':{'cpu':'" text "'}}"
#define PRIORITY(number) "spec/priority=" number "; "
#define AT_QOS           "metadata.labels[koordinator.sh/qosClass]: "
#define AT_CLASS         "metadata.labels[koordinator.sh/priority-class]: "
#define AT_CPUS          "spec.containers[*].resources.requests: "

static const struct rules_row classes[] = {
	{"Pod", QOS("LSR") "spec/priority-; " ASKS("2"), NULL, ""},
	{"Pod", QOS("LSR") PRIORITY("0") ASKS("2"), NULL, ""},
	{"Pod", QOS("LSR") PRIORITY("9000") ASKS("2"), NULL, ""},
	{"Pod", QOS("LSR") PRIORITY("100") CLASS("koord-prod") ASKS("2"), NULL, ""},
	{"Pod", QOS("LSR") PRIORITY("100") ASKS("2"), NULL, AT_QOS "Forbidden: LSR *"},
	{"Pod", QOS("LSR") PRIORITY("9000") CLASS("koord-mid") ASKS("2"), NULL,
	 AT_QOS "Forbidden: LSR goes with the class koord-prod only: the label "
		"koordinator.sh/priority-class, or a priority from 9000 to 9999"},
	{"Pod", QOS("LSR") CLASS("other") ASKS("2"), NULL, AT_QOS "Forbidden: LSR *"},
	{"Pod", QOS("LSE") PRIORITY("100") ASKS("2"), NULL, ""},
	{"Pod", QOS("LSE") PRIORITY("9999") ASKS("1500m"), NULL,
	 AT_CPUS "Invalid value: \"1500m\": the CPUs that LSR and LSE pods ask for must "
		 "be whole ones"},
	{"Pod", QOS("LSR") PRIORITY("0") ASKS("0"), NULL,
	 AT_CPUS "Required value: LSR and LSE pods ask for CPUs"},
	{"Pod",
	 QOS("LSR") PRIORITY("0")
		 ASKS("1500m") "; spec/containers/1={'name':'b','image':'b',"
			       "'resources':{'requests':{'cpu':'500m'}}}",
	 NULL, ""},
	{"Pod", QOS("LS") PRIORITY("100") ASKS("100m"), NULL, ""},
	{"Pod", QOS("BE") PRIORITY("0"), NULL, ""},
	{"Pod", QOS("BE") PRIORITY("5500"), NULL, ""},
	{"Pod", QOS("BE") PRIORITY("9500"), NULL, AT_QOS "Forbidden: BE goes with *"},
	{"Pod", QOS("BE") PRIORITY("100"), NULL, AT_QOS "Forbidden: BE goes with *"},
	{"Pod", QOS("BE") PRIORITY("9500") CLASS("koord-batch"), NULL, ""},
#define BATCH "@resources={'requests':{'kubernetes.io/batch-cpu':'1000'}}"
	{"Pod", QOS("BE") PRIORITY("5500") BATCH, NULL, ""},
	{"Pod", QOS("LS") BATCH, NULL, AT_QOS "Forbidden: pods that ask for *"},
	{"Pod", "metadata/labels-; " BATCH, NULL,
	 AT_QOS "Forbidden: pods that ask for *"},
	{"Pod",
	 "spec/initContainers/0/resources={'limits':{'kubernetes.io/batch-memory':'1Gi'}}",
	 NULL, AT_QOS "Forbidden: pods that ask for *"},
	{"Pod", BATCH "; metadata/labels/a='b'", BATCH, ""},
	/* Those that are there stay as they are, whatever they are. */
	{"Pod", QOS("LSR") CLASS("koord-free") "metadata/labels/a='b'",
	 QOS("LSR") CLASS("koord-free"), ""},
	{"Pod", QOS("LSR"), QOS("LSE"),
	 AT_QOS "Invalid value: \"LSR\": field is immutable"},
	{"Pod", "", QOS("BE"), AT_QOS "Invalid value: \"\": field is immutable"},
	{"Pod", QOS("one"), QOS("other"), ""},
	{"Pod", PRIORITY("9500") CLASS("koord-prod"), PRIORITY("9500"), ""},
	{"Pod", CLASS("koord-prod"), "",
	 AT_CLASS "Invalid value: \"koord-prod\": field is immutable"},
	{"Pod", "metadata/labels/koordinator.sh~1priority='2'",
	 "metadata/labels/koordinator.sh~1priority='1'",
	 "metadata.labels[koordinator.sh/priority]: Invalid value: \"2\": field is "
	 "immutable"},
};

static void test_classes(void **state)
{
	(void)state;
	rules_rows(classes, NEAP_ARRAY_LEN(classes));
}

static void test_containers(void **state)
{
	(void)state;
	rules_rows(containers, NEAP_ARRAY_LEN(containers));
}

static void test_placement(void **state)
{
	(void)state;
	rules_rows(placement, NEAP_ARRAY_LEN(placement));
}

static void test_updates(void **state)
{
	(void)state;
	rules_rows(updates, NEAP_ARRAY_LEN(updates));
}

static void test_short(void **state)
{
	(void)state;
	rules_rows_short(containers, NEAP_ARRAY_LEN(containers));
	rules_rows_short(placement, NEAP_ARRAY_LEN(placement));
	rules_rows_short(updates, NEAP_ARRAY_LEN(updates));
	rules_rows_short(classes, NEAP_ARRAY_LEN(classes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_containers), cmocka_unit_test(test_placement),
		cmocka_unit_test(test_updates),    cmocka_unit_test(test_classes),
		cmocka_unit_test(test_short),
	};

	neap_json_setup();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
