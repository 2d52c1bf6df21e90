# SPDX-License-Identifier: Apache-2.0
#
# What t/peers/scheduler.t puts on both servers, as lists: `jq -n -f cluster.jq --arg what nodes|objects|cpus|groups|GROUP`.
# Nodes of four classes, whose names begin with the class; pods in groups, whose names do.

def meta($name; $labels): {name: $name, labels: $labels};

def node($name; $zone; $cpu; $more):
  {apiVersion: "v1", kind: "Node", metadata: meta($name; {"kubernetes.io/hostname": $name, zone: $zone} + ($more.labels // {})),
   spec: ($more.spec // {}),
   status: {allocatable: ({cpu: $cpu, memory: "16Gi", pods: "110"} + ($more.has // {})),
            conditions: [{type: "Ready", status: "True", reason: "KubeletReady", message: "it is",
                          lastHeartbeatTime: "2026-01-01T00:00:00Z", lastTransitionTime: "2026-01-01T00:00:00Z"}]}};

def nodes:
  [range(6) as $i | node("small-\($i)"; "z\($i % 3)"; "2"; {})]
  + [range(6) as $i | node("ssd-\($i)"; "z\($i % 3)"; "8"; {labels: {disk: "ssd"}, has: {"example.com/gpu": "2"}})]
  + [range(4) as $i | node("own-\($i)"; "z\($i % 2)"; "4"; {spec: {taints: [{key: "own", value: "a", effect: "NoSchedule"}]}})]
  + [range(2) as $i | node("off-\($i)"; "z9"; "8"; {spec: {unschedulable: true}})]
  + [node("prio-0"; "z8"; "2"; {labels: {only: "prio"}, spec: {taints: [{key: "prio", effect: "NoSchedule"}]}})];

def pod($group; $i; $cpu; $spec):
  {apiVersion: "v1", kind: "Pod", metadata: meta("\($group)-\($i)"; {group: $group}
    + if $group == "lsr" then {"koordinator.sh/qosClass": "LSR", "koordinator.sh/priority-class": "koord-prod"} else {} end),
   spec: ({terminationGracePeriodSeconds: 0,
           containers: [{name: "c", image: "i", resources: {requests: {cpu: $cpu, memory: "64Mi"}}}]} + $spec)};

def by_host: {labelSelector: {matchLabels: {group: .}}, topologyKey: "kubernetes.io/hostname"};
def own: {tolerations: [{key: "own", operator: "Equal", value: "a", effect: "NoSchedule"}]};
def prio($class): {nodeSelector: {only: "prio"}, tolerations: [{key: "prio", operator: "Exists"}]}
  + if $class == "" then {} else {priorityClassName: $class} end;
def claim($name): {volumes: [{name: "v", persistentVolumeClaim: {claimName: $name}}]};

# group: how many pods, CPU of each, the rest of their spec.
def groups: {
  plain: [12, "100m", {}],
  selector: [6, "100m", {nodeSelector: {disk: "ssd"}}],
  nowhere: [2, "100m", {nodeSelector: {disk: "tape"}}],
  affinity: [4, "100m", {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms:
    [{matchExpressions: [{key: "disk", operator: "NotIn", values: ["ssd"]}, {key: "zone", operator: "In", values: ["z1"]}]}]}}}}],
  prefers: [4, "100m", {affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution:
    [{weight: 100, preference: {matchExpressions: [{key: "disk", operator: "Exists"}]}}]}}}],
  own: [4, "3", own],
  apart: [8, "10m", {nodeSelector: {disk: "ssd"}, affinity: {podAntiAffinity:
    {requiredDuringSchedulingIgnoredDuringExecution: ["apart" | by_host]}}}],
  beside: [3, "10m", {affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: ["selector" | by_host]}}}],
  spread: [9, "10m", {topologySpreadConstraints: [{maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule",
    labelSelector: {matchLabels: {group: "spread"}}}], nodeSelector: {disk: "ssd"}}],
  ports: [8, "10m", {nodeSelector: {disk: "ssd"},
    containers: [{name: "c", image: "i", ports: [{containerPort: 80, hostPort: 8080}]}]}],
  gpus: [14, "10m", {containers: [{name: "c", image: "i", resources: {limits: {"example.com/gpu": "1"}}}]}],
  huge: [2, "100", {}],
  big: [7, "5", {}],
  named: [2, "10m", {nodeName: "off-0"}],
  others: [2, "10m", {schedulerName: "another"}],
  unclaimed: [1, "10m", claim("none")],
  unbound: [1, "10m", claim("now")],
  volume: [1, "10m", claim("local")],
  low: [2, "900m", prio("")],
  high: [1, "900m", prio("high")],
  lsr: [52, "1", {containers: [{name: "c", image: "i",
    resources: ({cpu: "1", memory: "64Mi"} | {requests: ., limits: .})}]}],
  never: [1, "900m", prio("polite")]
};

def objects:
  [("high", "polite") as $name | {apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: {name: $name}, value: 1000,
    preemptionPolicy: (if $name == "polite" then "Never" else "PreemptLowerPriority" end)}]
  + [("Immediate", "WaitForFirstConsumer") as $mode | {apiVersion: "storage.k8s.io/v1", kind: "StorageClass",
    metadata: {name: ($mode | ascii_downcase)}, provisioner: "kubernetes.io/no-provisioner", volumeBindingMode: $mode}]
  + [{apiVersion: "v1", kind: "PersistentVolume", metadata: {name: "local"}, spec: {capacity: {storage: "1Gi"},
    accessModes: ["ReadWriteOnce"], storageClassName: "waitforfirstconsumer", local: {path: "/x"}, nodeAffinity: {required:
    {nodeSelectorTerms: [{matchExpressions: [{key: "kubernetes.io/hostname", operator: "In", values: ["ssd-3"]}]}]}}}}]
  + [(["now", "immediate"], ["local", "waitforfirstconsumer"]) as [$name, $class]
    | {apiVersion: "v1", kind: "PersistentVolumeClaim",
    metadata: {name: $name, namespace: "default"}, spec: {accessModes: ["ReadWriteOnce"], storageClassName: $class,
    resources: {requests: {storage: "1Gi"}}}}];

# Nodes with CPUs, as their neapds tell them.
def cpus:
  [nodes[] | select(.metadata.labels.disk == "ssd")]
  + [range(6) as $i | {apiVersion: "topology.node.k8s.io/v1alpha1", kind: "NodeResourceTopology", topologyPolicies: ["None"],
    metadata: {name: "ssd-\($i)", annotations: {"node.koordinator.sh/cpu-topology":
      ({detail: [range(8) | {id: ., core: ., socket: 0, node: 0}]} | tojson)}},
    zones: [{name: "node-0", type: "Node", resources: [{name: "cpu", capacity: "8", allocatable: "8", available: "8"}]}]}];

if $what == "groups" then groups | keys_unsorted[] | select(. != "lsr")
else {apiVersion: "v1", kind: "List", items:
  (if $what == "nodes" then nodes elif $what == "objects" then objects elif $what == "cpus" then cpus
   else groups[$what] as [$count, $cpu, $spec] | [range($count) as $i | pod($what; $i; $cpu; $spec)] end)} end
