-- SPDX-License-Identifier: Apache-2.0
--
-- Everything that neap offers to policies, for editors (LuaCATS) and, as doc/lua-api.md,
-- for people. t/test_meta.c compares it with what a loaded policy really has.
---@meta
-- luacheck: ignore
error("a meta file is never run")

-- # The sample
-- What `tick` gets as its second argument. Amounts of CPU are in thousandths of a CPU
-- (`_milli`, integers) or CPUs (`_cores`, real numbers); a `_ratio` and a pressure are
-- shares, 0 to 1.

--- A pod, a command started by `neapctl run`, or a host application. A name that is not
--- in this list raises.
---
--- In this version `qos` is nil for pods of a kubelet that neap's own API does not know.
--- `exclusive_cpus` are those that a pod was given for itself, by neap's scheduler or by
--- the static CPU manager of a kubelet; others have none. Requests and limits are what
--- `neapctl run` was told, and nil for others; so is `processes`. A host application is
--- not critical only with qos BE *and* below the best-effort directory.
---@class neap.Workload
---@field id string unique on the node: pod uid, run name, "host:NAME"
---@field name string name for people; NAMESPACE/NAME of a kubelet's pod
---@field target string what a write names to mean this workload
---@field group string its cgroup directory below the hierarchies
---@field source string|nil where it comes from: "run", "pod", "kubelet" or "host"
---@field qos string|nil QoS class as labelled: LSE, LSR, LS, BE, SYSTEM; absent without a label
---@field kube_qos string|nil class of Kubernetes: Guaranteed, Burstable, BestEffort
---@field is_critical boolean neither labelled BE nor of class BestEffort
---@field cpu_request_milli integer|nil CPU request, thousandths of a CPU
---@field cpu_limit_milli integer|nil CPU limit, thousandths of a CPU
---@field memory_limit_bytes integer|nil memory limit, bytes
---@field used_cores number|nil CPU use since the tick before, CPUs
---@field used_milli integer|nil CPU use since the tick before, thousandths of a CPU
---@field used_avg_cores number|nil average CPU use over the window (neapd --window), CPUs
---@field used_p50_cores number|nil median of the CPU use over the window, CPUs
---@field used_p90_cores number|nil 90th percentile of the CPU use over the window, CPUs
---@field used_p95_cores number|nil 95th percentile of the CPU use over the window, CPUs
---@field used_p99_cores number|nil 99th percentile of the CPU use over the window, CPUs
---@field throttled_ratio number|nil share of periods in which its quota stopped it, 0..1
---@field memory_bytes integer|nil memory charged to its group, page cache included, bytes
---@field cpu_pressure number|nil share of the last 10 s in which some task waited for a CPU, 0..1
---@field memory_pressure number|nil the same for memory, 0..1
---@field io_pressure number|nil the same for block devices, 0..1
---@field cpus neap.CpuSet CPUs that its group may use now
---@field exclusive_cpus neap.CpuSet CPUs given to it alone (LSE, LSR); empty when none
---@field max_milli integer|nil quota in force, thousandths of a CPU, -1 unlimited
---@field processes integer|nil processes in its group

--- The directories of a QoS class in all trees (neap's own and the kubelet's) taken
--- together.
---@class neap.Class
---@field exists boolean the directory of the class is there
---@field used_cores number|nil CPU use since the tick before, CPUs
---@field used_milli integer|nil CPU use since the tick before, thousandths of a CPU
---@field max_milli integer|nil quota in force, thousandths of a CPU, -1 unlimited; lowest of the trees
---@field cpus neap.CpuSet CPU set in force
---@field throttled_ratio number|nil share of periods in which the quota stopped it, 0..1
---@field cpu_pressure number|nil share of the last 10 s in which some task waited for a CPU, 0..1
---@field workloads integer|nil number of workloads in it

--- What one tick saw: the fields named in `needs`, nothing else; another name raises. A
--- field named with "?" may be nil, any other is there. A write of a key that is not in
--- `supports` is left out.
---@class neap.NodeSample
---@field now_unix integer wall clock, seconds since 1970
---@field mono_usec integer clock that never goes back, microseconds
---@field seconds number time since the tick before, seconds; missing at the first
---@field capacity_milli integer online CPUs, thousandths of a CPU
---@field allocatable_milli integer capacity less what the configuration keeps back
---@field reserved_milli integer kept back by annotation or configuration, 0 if nothing is
---@field reserved_cpus neap.CpuSet CPUs that nobody gets
---@field system_cpus neap.CpuSet exclusive CPUs of class SYSTEM
---@field exclusive_cpus neap.CpuSet CPUs given to single workloads that are not best-effort
---@field used_cores number CPU use of the whole node since the tick before, CPUs
---@field used_milli integer CPU use of the whole node, thousandths of a CPU
---@field used_avg_cores number average CPU use of the node over the window (neapd --window), CPUs
---@field used_p50_cores number median of the node's CPU use over the window, CPUs
---@field used_p90_cores number 90th percentile of the node's CPU use over the window, CPUs
---@field used_p95_cores number 95th percentile of the node's CPU use over the window, CPUs
---@field used_p99_cores number 99th percentile of the node's CPU use over the window, CPUs
---@field stolen_ratio number share of CPU time that the hypervisor gave to others, 0..1
---@field critical_used_milli integer CPU use of the workloads that are not best-effort
---@field critical_used_avg_milli integer sum of the average CPU uses over the window (neapd --window) of the workloads that are not best-effort
---@field besteffort_used_milli integer CPU use of the workloads that are best-effort
---@field system_used_milli integer CPU use of the node that belongs to no workload, not below 0
---@field memory_capacity_bytes integer memory of the node, bytes
---@field memory_used_bytes integer memory of the node that is not available, bytes
---@field cpu_pressure number share of the last 10 s in which some task waited for a CPU, 0..1
---@field memory_pressure number the same for memory, 0..1
---@field io_pressure number the same for block devices, 0..1
---@field critical_pressure number highest cpu_pressure of a workload that is not best-effort; missing without one
---@field kubelet_cpu_policy string CPU manager policy of the kubelet: "none" (also without one) or "static"
---@field topology neap.Topology the machine: sockets, NUMA nodes, caches, cores, threads
---@field besteffort neap.Class the best-effort directory, all trees together
---@field burstable neap.Class the burstable directory, all trees together
---@field workloads neap.Workload[] pods, runs and host applications
---@field supports table<string, boolean> keys whose kernel file exists here: name = true
---@field trigger string|nil name of the policy's trigger that fired; missing on a plain tick

-- # CPU sets and the machine
-- Objects that never change. All numbers are those of the operating system.

--- A set of CPUs. Operators make new ones: `a + b` and `a | b` are the union, `a & b`
--- what both have, `a - b` the difference, `#a` the count, `a == b` compares members,
--- `tostring(a)` is the list ("0-3,8").
---@class neap.CpuSet
---@operator add(neap.CpuSet): neap.CpuSet
---@operator bor(neap.CpuSet): neap.CpuSet
---@operator band(neap.CpuSet): neap.CpuSet
---@operator sub(neap.CpuSet): neap.CpuSet
---@operator len: integer
local CpuSet = {} -- set

--- Returns whether the CPU is a member.
---@param cpu integer
---@return boolean
function CpuSet:has(cpu) end

--- Returns the members, ascending.
---@return integer[]
function CpuSet:list() end

--- Returns the n lowest members; all of them when there are fewer.
---@param n integer
---@return neap.CpuSet
function CpuSet:first(n) end

--- Returns whether every member is also in other.
---@param other neap.CpuSet
---@return boolean
function CpuSet:is_subset(other) end

--- The machine. After a CPU went on- or offline the next sample has another one.
---@class neap.Topology
local Topology = {} -- topology

--- Returns the CPUs that are online.
---@return neap.CpuSet
function Topology:cpus() end

--- Returns how many CPUs are online.
---@return integer
function Topology:count() end

--- Returns n CPUs of set in the order of picking: pairs of siblings first, going round
--- the (NUMA node, socket) pairs, larger ones first. {} when set has fewer than n.
---@param set neap.CpuSet
---@param n integer
---@return integer[]
function Topology:pick(set, n) end

--- Returns the same as a set.
---@param set neap.CpuSet
---@param n integer
---@return neap.CpuSet
function Topology:pick_set(set, n) end

--- Returns the CPUs of the core that cpu is on, itself included; empty for an unknown
--- CPU.
---@param cpu integer
---@return neap.CpuSet
function Topology:siblings(cpu) end

--- Returns those CPUs of set whose siblings are all in set.
---@param set neap.CpuSet
---@return neap.CpuSet
function Topology:whole_cores(set) end

--- Returns the numbers of the NUMA nodes.
---@return integer[]
function Topology:nodes() end

--- Returns the CPUs of a NUMA node.
---@param node integer
---@return neap.CpuSet|nil cpus
---@return string? message
function Topology:node_cpus(node) end

--- Returns the numbers of the sockets.
---@return integer[]
function Topology:sockets() end

--- Returns the CPUs of a socket.
---@param socket integer
---@return neap.CpuSet|nil cpus
---@return string? message
function Topology:socket_cpus(socket) end

-- # ctx

--- The first argument of every function of a policy. It is read-only but for what is in
--- `memo`. A name that is not in this list raises.
---@class neap.Ctx
---@field params table<string, any> the parameters in force; an unset one is nil, an undeclared one raises
---@field now_unix integer wall clock of the sample, seconds since 1970; there is no other clock
---@field policy { name: string, version: string } version: first 8 hexadecimal digits of the file's SHA-256
---@field memo table kept between calls, see neap-policy(5)
---@field hold userdata what tick returns to keep everything as it was set
---@field quantity neap.Quantity texts such as "500m" and "128Mi" to numbers
---@field time neap.Time local time of the sample
local Ctx = {} -- ctx

--- Writes a line to neapd's log; ten per call and 60 a minute are kept, and one that
--- repeats is told with its count.
---@param text string
function Ctx.log(text) end

--- Returns the set of a CPU list ("0-3,8"), the empty set without text; nil and a message
--- when the text is no CPU list.
---@param text? string
---@return neap.CpuSet|nil set
---@return string? message
function Ctx.cpuset(text) end

--- Returns a label selector of Kubernetes; nil and a message that names the field when it
--- is wrong. {} matches everything.
---@param selector neap.LabelSelector
---@return neap.Selector|nil selector
---@return string? message
function Ctx.selector(selector) end

---@class neap.LabelSelector
---@field matchLabels? table<string, string> all of them must be there
---@field matchExpressions? neap.LabelRequirement[] all of them must hold

---@class neap.LabelRequirement
---@field key string
---@field operator "In"|"NotIn"|"Exists"|"DoesNotExist"
---@field values? string[] of In and NotIn

--- A label selector. Never changes.
---@class neap.Selector
local Selector = {} -- selector

--- Returns whether the labels (nil: none) fulfil the selector.
---@param labels table<string, string>|nil
---@return boolean
function Selector:matches(labels) end

--- What the clocks of a zone show.
---@class neap.Clock
---@field year integer
---@field month integer 1..12
---@field day integer 1..31
---@field hour integer
---@field minute integer
---@field second integer
---@field weekday integer 0 is Sunday
---@field offset_s integer seconds east of UTC

--- Local time of ctx.now_unix. A zone is a name such as "Europe/Berlin" or "UTC", a time
--- of day "HH:MM" or "HH:MM:SS".
---@class neap.Time
local Time = {} -- ctx.time

--- Returns the next moment, after now, at which the clocks of the zone show time: seconds
--- since 1970. A time that a day has twice is its first; on a day that leaves it out, the
--- end of the gap.
---@param time string
---@param zone string
---@return integer|nil unix
---@return string? message
function Time.next(time, zone) end

--- Returns what the clocks of the zone show now.
---@param zone string
---@return neap.Clock|nil clock
---@return string? message
function Time.now(zone) end

--- Returns whether it is from or later, and earlier than to. With from after to it goes
--- over midnight; to may be "24:00". Raises for what is no time of day.
---@param from string
---@param to string
---@param zone string
---@return boolean|nil is_between
---@return string? message
function Time.is_between(from, to, zone) end

--- Quantities as Kubernetes writes them.
---@class neap.Quantity
local Quantity = {} -- ctx.quantity

--- Returns "500m" or "2" in thousandths, rounded up.
---@param text string
---@return integer|nil milli
---@return string? message
function Quantity.milli(text) end

--- Returns "128Mi" or "2k" in whole units, rounded up.
---@param text string
---@return integer|nil bytes
---@return string? message
function Quantity.bytes(text) end

-- # What a policy returns
-- The table of the policy, and what its functions give. A field that is not in these
-- lists is an error.

--- One wanted value. All four fields are needed.
---@class neap.Write
---@field target string whom it is for, see TARGETS in neap-policy-kinds(5)
---@field key string what is set, see KEYS there
---@field value integer|neap.CpuSet|string a CPU set also as list text; -1 lifts a limit
---@field why string the reason, one line without control characters, for the audit; cut after 159 bytes

--- Returns the writes that are wanted, or ctx.hold.
---@alias neap.QosTick fun(ctx: neap.Ctx, node: neap.NodeSample): neap.Write[]|userdata

--- A parameter. Numbers in min, max and default of a quantity are in its unit, of a
--- duration in seconds; that is also what `ctx.params` holds.
---@class neap.Param
---@field type "integer"|"number"|"boolean"|"string"|"enum"|"percent"|"quantity"|"duration"|"time"|"zone"|"selector"|"list"|"map"|"object" see PARAMETERS in neap-policy(5)
---@field doc string what it does
---@field default? any the value when nothing else is said; without one it may be unset, and is nil then
---@field min? number|string for types with a range
---@field max? number|string for types with a range
---@field unit? "milli"|"bytes" of a quantity: thousandths or whole units [bytes]
---@field values? string[] of an enum, 1 to 31
---@field of? string|neap.ParamOf of a list or map: what the elements are
---@field max_items? integer of a list (at most 1024) or map (at most 64) [64]
---@field fields? table<string, neap.Param> of an object, at most 64; doc may be left out in them
---@field at_most_one? string[] of an object: of these fields one at most may be set
---@field required? boolean it must be set before the policy is used with parameters [false]

--- The elements of a list or map: any type but list and map.
---@class neap.ParamOf
---@field type string
---@field min? number|string
---@field max? number|string
---@field unit? "milli"|"bytes"
---@field values? string[]
---@field fields? table<string, neap.Param>
---@field at_most_one? string[]

--- What `valid(params)` objects to.
---@class neap.Objection
---@field field string the parameter, "nodePools[0].name"
---@field message string what is wrong, in one line

--- A row of examples: `want`, or `steps` in its place. See EXAMPLES in neap-policy(5).
---@class neap.Example
---@field name string it is printed
---@field node? table the fields of the sample that the row is about; all others are missing
---@field params? table<string, any> parameters that differ from their defaults
---@field want? neap.Write[]|"hold"|"skip" in any order; why is compared only where it is given
---@field steps? { node: table?, after_s: integer?, want: neap.Write[]|"hold"|"skip" }[] run one after the other

--- A pressure event of the kernel that calls the policy at once: tasks waited stall_usec
--- of the last window_usec. node.trigger (in needs: "trigger?") tells which one fired.
---@class neap.Trigger
---@field name string a-z, 0-9, - and _
---@field pressure "cpu"|"memory"|"io"
---@field of "node"|"critical"|"burstable"|"besteffort" critical: each workload that is, by itself
---@field stall_usec integer at least 1, at most the window
---@field window_usec? integer 500000 to 10000000 [500000]
---@field full? boolean all tasks wait at the same time, not only some [false]

--- The table that the file returns.
---@class neap.QosPolicy
---@field api 1 version of this interface
---@field kind "qos" what the policy decides
---@field name string 1 to 47 of a-z, 0-9 and -, not beginning with -
---@field doc? string what the policy does
---@field params? table<string, neap.Param> at most 64, by names of letters, digits and _
---@field needs? string[] fields of neap.NodeSample ("besteffort.cpus" for a part), with "?" those that may be missing
---@field triggers? neap.Trigger[] at most 8: tick is also called when one fires
---@field where? { nodeSelector: table<string, string>? } the nodes that it is for [all]
---@field tick neap.QosTick called once per tick
---@field valid? fun(params: table<string, any>): neap.Objection[]|string|nil what is wrong with the parameters together; 5 ms
---@field rules? table<string, fun(ctx: neap.Ctx, input: any): any> pure parts, for tests only
---@field examples? neap.Example[] run at every load

-- # Places for pods
-- Kinds score and filter: asked by neapd's scheduler, once a pod or for many nodes in a
-- row. CPU is in thousandths, everything else in whole units. See SCORE and FILTER in
-- neap-policy-kinds(5).

--- The pod that a place is looked for. Only what `needs` names as `pod.FIELD` is there; a
--- part of a table is named with its key, `pod.labels.team`; of `labels` also the whole
--- can be.
---@class neap.PlacePod
---@field name string
---@field namespace string
---@field uid string
---@field class "prod"|"mid"|"batch"|"free" of koordinator, by its label, priority or QoS
---@field priority integer
---@field is_daemon boolean of a DaemonSet
---@field labels table<string, string>
---@field annotations table<string, string>
---@field requests table<string, integer> what it asks for, by resource; 0 without a request
---@field images string[] of its containers, with a tag: "nginx:latest"
---@field ownerReferences neap.OwnerReference[] of its metadata, dear to read

--- Whom a pod belongs to.
---@class neap.OwnerReference
---@field apiVersion? string
---@field kind? string
---@field name? string
---@field uid? string
---@field controller? boolean

--- One node. Only what `needs` names as `node.FIELD` is there. The table is the same for
--- all nodes of a decision: what is to be kept has to be copied. The names of
--- `neap.Term.column` are these, too.
---@class neap.PlaceNode
---@field name string
---@field labels table<string, string>
---@field pods integer how many are there
---@field allocatable table<string, integer> by resource; the next two, too
---@field requested table<string, integer> what the pods that are there ask for
---@field free table<string, integer> allocatable less requested
---@field requested_share table<string, number> of allocatable, this pod counted; the next two, too
---@field free_share table<string, number> 1 less requested_share
---@field load_share table<string, number> really used, by a fresh report and what is on its way
---@field numa_share table<string, number> of the NUMA node that holds this pod alone and would have least left: how full it would be
---@field core_share number the same by cores: its CPUs that would lie in no wholly free core

--- One part of a score: a column of the nodes, through a curve of straight lines.
---@class neap.Term
---@field column string "free_share.cpu", "labels.example.com/zone", "pods", "pods_same.app", "pods_same.app@topology.kubernetes.io/zone"
---@field weight? number among the terms, above 0 [1]
---@field curve? number[][] 1 to 16 pairs { x, points }, x growing, points 0 to 100; level before and behind; of a share and with `is` [{ { 0, 0 }, { 1, 100 } }]
---@field is? string|string[] of labels and name: 1 where it is that text or one of these, else 0
---@field missing? number points of a node that has no such column, 0 to 100 [0]

--- A list of at most 32 terms, whose mean is the score, 0 to 100. An empty one says
--- nothing of the pod.
---@class neap.Terms
---@field weight? integer of the whole beside the other scores, 0 to 100 [1]

--- A node of an example. The pods that are there ask for `requested` together.
---@class neap.PlaceExampleNode
---@field labels? table<string, string>
---@field allocatable? table<string, integer> [110 pods]
---@field requested? table<string, integer>
---@field pods? integer|table<string, string>[] how many, or the labels of each, which is then in the pod's namespace; at most 256 [1 where something is requested or bound, else 0]
---@field load_share? table<string, number> of allocatable, used before the pod comes; without it there is no report
---@field numa? neap.PlaceExampleNuma[] its NUMA nodes; without them none are told

--- A NUMA node of an example. CPUs are numbered through all of them, two threads to a
--- core.
---@class neap.PlaceExampleNuma
---@field cpus integer at least 1, 256 on a node
---@field bound? integer so many of them, the first, are a pod's own [0]
---@field memory? integer [not told]
---@field used_memory? integer of it, what a pod has [0]

--- A row of examples of the kinds score and filter.
---@class neap.PlaceExample
---@field name string it is printed
---@field params? table<string, any> parameters that differ from their defaults
---@field pod? table name, namespace, uid, labels, annotations, priority, requests, images, ownerReferences
---@field nodes? table<string, neap.PlaceExampleNode> at most 64, by name
---@field want table<string, integer|boolean|string>|"hold"|"skip" by node: points; or true, false, or the reason

--- The table of a policy of kind score.
---@class neap.ScorePolicy
---@field api 1 version of this interface
---@field kind "score"
---@field name string 1 to 47 of a-z, 0-9 and -, not beginning with -
---@field doc? string what the policy does
---@field params? table<string, neap.Param> at most 64, by names of letters, digits and _
---@field needs? string[] "pod.FIELD", with "?" those that may be missing
---@field plan fun(ctx: neap.Ctx, pod: neap.PlacePod): neap.Terms|neap.Term[]|userdata|nil called once a pod; ctx.hold and nil say nothing of it
---@field valid? fun(params: table<string, any>): neap.Objection[]|string|nil what is wrong with the parameters together; 5 ms
---@field rules? table<string, fun(ctx: neap.Ctx, input: any): any> pure parts, for tests only
---@field examples? neap.PlaceExample[] run at every load

--- The table of a policy of kind filter.
---@class neap.FilterPolicy
---@field api 1 version of this interface
---@field kind "filter"
---@field name string 1 to 47 of a-z, 0-9 and -, not beginning with -
---@field doc? string what the policy does
---@field params? table<string, neap.Param> at most 64, by names of letters, digits and _
---@field needs? string[] "pod.FIELD" and "node.FIELD", with "?" those that may be missing
---@field where? { nodeSelector: table<string, string>? } the nodes that it has a say on [all]
---@field by_value? boolean allow is handed the fields of nodes in the order of needs in place of node, which is twice as quick [false]
---@field allow fun(ctx: neap.Ctx, pod: neap.PlacePod, ...: any): boolean, string? with node: neap.PlaceNode, or by value; true; or false, and why
---@field valid? fun(params: table<string, any>): neap.Objection[]|string|nil what is wrong with the parameters together; 5 ms
---@field rules? table<string, fun(ctx: neap.Ctx, input: any): any> pure parts, for tests only
---@field examples? neap.PlaceExample[] run at every load

-- # Reservations
-- Kind reservation: asked by neapd's scheduler which reservations a pod may use, and
-- which of several it takes. See RESERVATION in neap-policy-kinds(5).

--- One reservation that a pod is offered: it is usable, and has some room left, or room
--- is to be made for the pod. Only what `needs` names as `resv.FIELD` is there; a part of
--- a table is named with its key, `resv.labels.team`; of `labels` also the whole can be.
--- The table is the same for all reservations of a decision, and `owners` with all that
--- is in it is, too: it shows those of the reservation at hand, and is read-only.
---@class neap.Resv
---@field name string
---@field uid string
---@field node string name of the node that it is on
---@field node_labels table<string, string> of that node
---@field labels table<string, string>
---@field annotations table<string, string>
---@field owners neap.ResvOwner[] spec.owners
---@field is_owner boolean spec.owners take the pod
---@field pods integer how many use it now
---@field allocatable table<string, integer> by resource, 0 without it; the next two, too
---@field allocated table<string, integer> what the pods that use it have of that
---@field free table<string, integer> what is left for further ones, not below 0
---@field order integer by its label reservation-order, 0 without one
---@field is_once boolean it is for one pod only: allocateOnce
---@field age_s integer since its creation, seconds
---@field expires_unix integer by ttl and expires, whichever is first; missing when it never does

--- An entry of spec.owners. All that it says must hold.
---@class neap.ResvOwner
---@field object? neap.ResvRef the pod itself
---@field controller? neap.ResvRef an owner of the pod
---@field labelSelector? neap.Selector labels of the pod

---@class neap.ResvRef
---@field namespace? string of the pod
---@field uid? string
---@field name? string
---@field kind? string
---@field apiVersion? string
---@field controller? boolean

--- Labels of the pod and of the reservation that must have the same value, or there is no
--- match.
---@class neap.LabelPair
---@field pod string key of the pod's label
---@field reservation string key of the reservation's label

--- What is wanted of a row; what is left out is not compared.
---@class neap.ReservationWant
---@field open? boolean
---@field reason? string
---@field again_unix? integer|false when to look again; false: no time is named
---@field rank? integer|false false: nothing is said

--- A row of examples of kind reservation.
---@class neap.ReservationExample
---@field name string it is printed
---@field params? table<string, any> parameters that differ from their defaults
---@field now_unix? integer [1700000000]
---@field pod? table as in neap.PlaceExample
---@field reservation? table fields of neap.Resv but is_owner and free; owners as in the API [one that takes everybody]
---@field want boolean|string|neap.ReservationWant open or not, the reason for not, or "skip"

--- The table of a policy of kind reservation.
---@class neap.ReservationPolicy
---@field api 1 version of this interface
---@field kind "reservation"
---@field name string 1 to 47 of a-z, 0-9 and -, not beginning with -
---@field doc? string what the policy does
---@field params? table<string, neap.Param> at most 64, by names of letters, digits and _
---@field needs? string[] "pod.FIELD" and "resv.FIELD", with "?" those that may be missing
---@field match fun(ctx: neap.Ctx, pod: neap.PlacePod, resv: neap.Resv): boolean, string?, number? true, or false and why; then when to look again, seconds since 1970
---@field rank? fun(ctx: neap.Ctx, pod: neap.PlacePod, resv: neap.Resv): number|userdata|nil 0 to 100, the most is taken first; ctx.hold and nil say nothing of it
---@field index? (string|neap.LabelPair)[] 1 to 8; a key alone is that of both
---@field combine? "narrow"|"replace" of those whom spec.owners take, or in place of the owners ["narrow"]
---@field valid? fun(params: table<string, any>): neap.Objection[]|string|nil what is wrong with the parameters together; 5 ms
---@field rules? table<string, fun(ctx: neap.Ctx, input: any): any> pure parts, for tests only
---@field examples? neap.ReservationExample[] run at every load
