-- SPDX-License-Identifier: Apache-2.0
--
-- What policies of descheduling rounds are given. See lua/meta/neap.lua.
---@meta
-- luacheck: ignore
error("a meta file is never run")

-- # Descheduling rounds
-- Kinds deschedule and evict. A round is a conversation: what is asked of it is answered
-- at once. Rounds, nodes, pods and sets are valid for one call; using a kept one raises.
-- CPU is in thousandths, everything else in whole units. See DESCHEDULE and EVICT in
-- neap-policy-kinds(5).

--- One round, for one strategy.
---@class neap.Round
---@field is_dry boolean nothing is really evicted
---@field now_unix integer the time of the round, seconds since 1970
---@field interval_s integer seconds between two rounds; 0: not known
---@field node_count integer how many nodes nodes() returns
local Round = {} -- round

--- Asks for a pod to leave. All rules are asked: the evictor's, disruption budgets,
--- limits, and whether there is a place where it would land. `reason` is one of
--- "already", "kept", "not-now", "budget", "node-limit", "namespace-limit",
--- "workload-limit", "total-limit", "no-place", "failed".
---@param pod neap.RoundPod
---@param why string for people, at most 511 bytes
---@param targets? neap.RoundNode[]|userdata nodes, or a set of them: the pod stays where its successor would land on none of them [anywhere]
---@return boolean ok
---@return string? reason nil when it leaves
---@return string? text when it leaves the node where it would land, where that is known; else why not, for people
function Round:evict(pod, why, targets) end

--- Returns whether the rules let the pod go at all, and why not. Asked once for a pod.
---@param pod neap.RoundPod
---@return boolean
---@return string? why
function Round:may_leave(pod) end

--- Returns the same with the last look that comes before an eviction, such as node fit.
---@param pod neap.RoundPod
---@return boolean
---@return string? why
function Round:may_leave_now(pod) end

--- Returns the nodes of the round, by name.
---@param selector? neap.Selector only nodes with these labels
---@return neap.RoundNode[]
function Round:nodes(selector) end

--- Returns pods of all nodes of the round, node after node, or in the order of the query.
---@param query? neap.PodQuery
---@param nodes? neap.RoundNode[]|neap.RoundSet only pods of these
---@return neap.RoundPod[]
function Round:pods(query, nodes) end

--- Returns the pods in another order. Pods that are equal in all keys stay as they are.
---@param pods neap.RoundPod[]
---@param order string[] as in neap.PodQuery
---@param scores? number[] of the pods of the list, for the key "score"
---@return neap.RoundPod[]
function Round:sort(pods, order, scores) end

--- Returns a set of nodes or of pods, for questions that are asked for many pods.
---@param list neap.RoundNode[]|neap.RoundPod[]
---@return neap.RoundSet
function Round:set(list) end

--- Returns whether a required anti-affinity of the pod selects another live pod of the
--- set in its domain. Pods that leave in this round do not count.
---@param pod neap.RoundPod
---@param pods neap.RoundSet
---@return boolean
function Round:is_repelled(pod, pods) end

--- Returns the spread constraints of the pods, each distinct one of a namespace once.
---@param pods neap.RoundPod[]
---@param kinds string[] "DoNotSchedule", "ScheduleAnyway"
---@return neap.Spread[]
function Round:spreads(pods, kinds) end

--- Returns the domains of a constraint with their pods.
---@param spread neap.Spread
---@return neap.SpreadDomain[]
function Round:domains(spread) end

--- Returns whether the pod fits a node, other than its own, that counts for the
--- constraint and is in a domain with fewer pods than the average.
---@param spread neap.Spread
---@param pod neap.RoundPod
---@return boolean
function Round:fits_below(spread, pod) end

--- Returns the groups of pods with the same owner and images that have duplicates: more
--- than one on a node.
---@param pods neap.RoundPod[] node after node, as pods() returns them
---@return neap.Duplicates[]
function Round:duplicates(pods) end

--- Marks a detector of anomalies, which is kept between rounds. Returns whether it is in
--- an anomaly: after so many bad marks in a row, until so many good ones or the timeout.
---@param key string such as the name of a node
---@param is_normal boolean
---@param rule { abnormal: number, normal: number, timeout_s: number }
---@return boolean
function Round:mark(key, is_normal, rule) end

--- Ends the row and the anomaly of a detector.
---@param key string
function Round:unmark(key) end

--- Forgets the detectors that got no bad mark for so many seconds.
---@param seconds number
function Round:forget(seconds) end

--- Asks for the annotation controller.kubernetes.io/pod-deletion-cost, written after the
--- call.
---@param pod neap.RoundPod
---@param cost integer of 32 bits
function Round:set_deletion_cost(pod, cost) end

--- Asks for the node to be cordoned, after the call.
---@param node neap.RoundNode
function Round:cordon(node) end

--- Asks for the node to be uncordoned, after the call.
---@param node neap.RoundNode
function Round:uncordon(node) end

--- A set of nodes or of pods. Nothing can be asked of it.
---@class neap.RoundSet

--- Which pods, in which order. Without a field all live pods are meant.
---@class neap.PodQuery
---@field phases? "live"|"all" all: also those that succeeded or failed ["live"]
---@field evictable? boolean only those that may leave by the rules and do not leave yet [false]
---@field class? "prod"|"mid"|"batch"|"free" only this class
---@field namespaces? { include: string[]?, exclude: string[]? }
---@field labels? neap.Selector
---@field any_of? neap.Selector[] one of them; an empty list takes all
---@field order? string[] keys, the first counts most: "priority" (none first), "kube_qos" (BestEffort first), "qos" (BE first), "class" (free first), "prefers_stay", "created" (oldest first), "restarts", "deletion_cost", "eviction_cost", "score", "constrained" (by node), "name", "requests.NAME", "usage.NAME", "measured.NAME"; "-" in front turns one round

--- A node of the round.
---@class neap.RoundNode
---@field name string
---@field index integer a number from 1 that no other node of the round has
---@field is_cordoned boolean
---@field is_ready boolean
---@field pod_count integer live pods
---@field labels table<string, string> a new table
---@field taints { key: string, value: string, effect: string }[] a new table
---@field has_usage boolean there is a NodeMetric with usage
---@field usage_age_s number|nil age of the NodeMetric, seconds
---@field is_measured boolean the metrics API, or else a NodeMetric, knows its use
---@field sample number|nil the figure from Prometheus, 0 to 1, for a strategy that asks for it (`metricsUtilization`)
local RoundNode = {} -- node

--- Returns the value of a label.
---@param key string
---@return string|nil
function RoundNode:label(key) end

--- Returns what is there for pods, without what the node reserves; nil for what it has
--- not.
---@param resource string
---@return integer|nil
function RoundNode:allocatable(resource) end

--- Returns the same before amplification.
---@param resource string
---@return integer|nil
function RoundNode:raw_allocatable(resource) end

--- Returns what its live pods request; of "pods" their number.
---@param resource string
---@return integer
function RoundNode:requested(resource) end

--- Returns what the system and the pods use, by NodeMetric; with class "prod" what its
--- production pods use. nil without a NodeMetric.
---@param resource string
---@param class? "prod"
---@return integer|nil
function RoundNode:usage(resource, class) end

--- Returns what the node uses by the metrics API, or by nodeUsage of its NodeMetric.
---@param resource string
---@return integer|nil
function RoundNode:measured(resource) end

--- Returns its pods, by namespace and name or in the order of the query.
---@param query? neap.PodQuery
---@return neap.RoundPod[]
function RoundNode:pods(query) end

--- A pod of the round.
---@class neap.RoundPod
---@field name string
---@field namespace string
---@field uid string
---@field node neap.RoundNode|nil nil when it is not bound
---@field index integer a number from 1 that no other pod of the round has
---@field phase string
---@field reason string status.reason, "" without one
---@field priority integer|nil nil when it has none
---@field class string "prod", "mid", "batch" or "free", by label, priority or QoS
---@field qos string LSE, LSR, LS, BE or SYSTEM, by label or class of Kubernetes
---@field kube_qos string Guaranteed, Burstable or BestEffort
---@field created_unix integer|nil seconds since 1970
---@field started_unix integer|nil
---@field age_s integer whole seconds since its creation; -1 when that is to come
---@field is_live boolean neither Succeeded nor Failed
---@field is_terminating boolean
---@field is_daemon boolean of a DaemonSet
---@field leaves boolean it was evicted in this round
---@field labels table<string, string> a new table
---@field owners neap.RoundOwner[] a new table
---@field containers neap.RoundContainer[] a new table
---@field conditions neap.RoundCondition[] a new table
---@field has_anti_affinity boolean it has required ones
---@field has_node_affinity boolean it has a required one
---@field has_preferences boolean it has preferred node affinities
---@field deletion_cost integer 0 without the annotation
---@field eviction_cost integer 0 without the annotation
local RoundPod = {} -- pod

--- Returns the value of a label.
---@param key string
---@return string|nil
function RoundPod:label(key) end

--- Returns the value of an annotation.
---@param key string
---@return string|nil
function RoundPod:annotation(key) end

--- Returns what it requests; of "pods" 1.
---@param resource string
---@return integer
function RoundPod:requests(resource) end

--- Returns what it uses by NodeMetric; nil when that does not have it.
---@param resource string
---@return integer|nil
function RoundPod:usage(resource) end

--- Returns what it uses by the metrics API, or else by NodeMetric.
---@param resource string
---@return integer|nil
function RoundPod:measured(resource) end

--- Returns how often its containers restarted.
---@param with_init? boolean init containers too [false]
---@return integer
function RoundPod:restarts(with_init) end

--- Returns whether one of its owners is of this kind.
---@param kind string
---@return boolean
function RoundPod:has_owner(kind) end

--- Returns whether it tolerates all taints of effect NoSchedule and NoExecute of the
--- node.
---@param node neap.RoundNode
---@return boolean
function RoundPod:tolerates(node) end

--- Returns whether it tolerates a taint.
---@param key string
---@param value string
---@param effect string
---@return boolean
function RoundPod:tolerates_taint(key, value, effect) end

--- Returns whether it tolerates all taints, of all effects, of one of the nodes, and has
--- at least as many tolerations as that node has taints: the first look of the reference.
---@param nodes neap.RoundNode[]|neap.RoundSet
---@return boolean
function RoundPod:tolerates_some(nodes) end

--- Returns whether its node selector and required node affinity match the node.
---@param node neap.RoundNode
---@return boolean
function RoundPod:matches(node) end

--- Returns the sum of the weights of its preferred node affinities that match.
---@param node neap.RoundNode
---@return integer
function RoundPod:preference(node) end

--- Returns whether it fits the node, and why not: cordon, taints, room, selector and,
--- with form "full", its own anti-affinity against pods of the node and a free place for
--- a pod. With "full" its own node has room.
---@param node neap.RoundNode
---@param form? "full"|"plain" ["full"]
---@return boolean
---@return string? why
function RoundPod:fits(node, form) end

--- Returns whether it fits one of the nodes.
---@param nodes neap.RoundNode[]|neap.RoundSet
---@param form? "full"|"plain" ["full"]
---@param with_own? boolean its own node counts too [false]
---@return boolean
function RoundPod:fits_any(nodes, form, with_own) end

---@class neap.RoundOwner
---@field kind string
---@field name string
---@field uid string
---@field is_controller boolean
---@field pods integer how many pods have this owner

---@class neap.RoundContainer
---@field name string
---@field image string
---@field part "main"|"init"|"ephemeral"
---@field restarts integer
---@field waiting? string the reason why it waits
---@field terminated? string the reason why it ended
---@field exit_code? integer

---@class neap.RoundCondition
---@field type string
---@field status string
---@field reason? string
---@field since_unix? integer seconds since 1970

--- A spread constraint of a namespace.
---@class neap.Spread
---@field namespace string
---@field topology_key string
---@field max_skew integer
---@field pod_count integer pods in all domains
---@field sizes integer[] pods of each domain
---@field ref userdata what domains() and fits_below() know it by

---@class neap.SpreadDomain
---@field value string of the topology key
---@field pods neap.RoundPod[]

---@class neap.Duplicates
---@field namespace string
---@field kind string of the owner
---@field name string of the owner
---@field counted integer its pods with these images
---@field feasible integer nodes that one of the duplicates could run on
---@field pods neap.RoundPod[] the duplicates, node after node; the first of a node is none

--- An event after which a round is wanted at once.
---@class neap.RoundTrigger
---@field event "node-condition"|"node-taint"|"node-label"|"pod-condition"|"pod-restarts"|"pod-pending"|"node-usage"
---@field key? string type of a condition, key of a taint or label, a resource; any without it
---@field value? string of a condition: the status it turned to
---@field bound? integer restarts, seconds for which a pod stays pending, percent of allocatable

--- Complete objects, as the API has them.
---@class neap.RoundCluster
---@field nodes table[]
---@field pods? table[]
---@field namespaces? table[]
---@field budgets? table[] PodDisruptionBudgets
---@field claims? table[] PersistentVolumeClaims
---@field nodeMetrics? table[]
---@field measured? table[] NodeMetrics and PodMetrics of metrics.k8s.io

--- A row of examples of the kinds of rounds: `want`, or `steps` in its place.
---@class neap.RoundExample
---@field name string it is printed
---@field params? table<string, any> parameters that differ from their defaults
---@field now? string the time, "2026-01-01T00:00:00Z"
---@field evictor? table arguments of DefaultEvictor
---@field limits? { total: integer?, node: integer?, namespace: integer?, workload: integer? }
---@field cluster neap.RoundCluster
---@field want? { evict: string[]?, count: integer? }|boolean|string who leaves, as "NAMESPACE/NAME", or how many; of kind evict true, or why the pod stays
---@field steps? { after_s: integer?, cluster: neap.RoundCluster?, want: table }[] of kind deschedule
---@field pod? string of kind evict: "NAMESPACE/NAME"

--- The table of a policy of kind deschedule.
---@class neap.DeschedulePolicy
---@field api 1 version of this interface
---@field kind "deschedule"
---@field name string 1 to 47 of a-z, 0-9 and -, not beginning with -
---@field doc? string what the policy does
---@field point "deschedule"|"balance" when it runs: every deschedule before any balance
---@field plugin? string its name in configurations, letters and digits [its name]
---@field params? table<string, neap.Param> at most 64, by names of letters, digits and _
---@field valid? fun(params: table<string, any>): neap.Objection[]|string|nil what is wrong with the parameters together; 5 ms
---@field triggers? neap.RoundTrigger[] at most 16
---@field run fun(ctx: neap.Ctx, round: neap.Round) called once a round
---@field needs? nil this kind has none
---@field rules? table<string, fun(ctx: neap.Ctx, input: any): any> pure parts, for tests only
---@field examples? neap.RoundExample[] run at every load

--- The table of a policy of kind evict.
---@class neap.EvictPolicy
---@field api 1 version of this interface
---@field kind "evict"
---@field name string 1 to 47 of a-z, 0-9 and -, not beginning with -
---@field doc? string what the policy does
---@field params? table<string, neap.Param> at most 64, by names of letters, digits and _
---@field valid? fun(params: table<string, any>): neap.Objection[]|string|nil what is wrong with the parameters together; 5 ms
---@field allow fun(ctx: neap.Ctx, pod: neap.RoundPod): boolean, string? may it leave at all; or false, and why
---@field before? fun(ctx: neap.Ctx, pod: neap.RoundPod): boolean, string? the last look before it does
---@field needs? nil this kind has none
---@field rules? table<string, fun(ctx: neap.Ctx, input: any): any> pure parts, for tests only
---@field examples? neap.RoundExample[] run at every load
