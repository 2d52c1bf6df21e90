-- SPDX-License-Identifier: Apache-2.0
--
-- Gives best-effort pods what the others leave of a share of the node: the CPU
-- suppression of Koordinator v1.8, number for number. Two ways: a CPU set that shrinks
-- and grows, or a quota.
--
--   left = capacity * threshold - critical pods - critical host applications
--        - max(everything else on the node, what the node keeps back)
--
-- The functions under `rules` are the parts of it; tick is made of the same ones.

local PERIOD = 100000 -- microseconds of a CFS period
local MIN_QUOTA = 2000 -- microseconds, the smallest quota that best-effort pods get
local MIN_CPUS = 2
local GROWTH = 0.1 -- of the node, in one round; shrinking is not bounded
local IGNORED = 0.01 -- of the node; smaller changes of the quota are not worth a write

local function truncate(x)
  return x >= 0 and math.floor(x) or math.ceil(x)
end

--- What best-effort pods may use, in thousandths of a CPU. Can be negative.
--- Uses are in CPUs and are truncated sum by sum.
local function left_milli(use)
  local kept = use.capacity_milli - use.allocatable_milli
  local reserved = math.max(kept, use.reserved_milli, 0)
  local system = math.max(use.node - use.pods - use.hosts, 0)
  local left = use.capacity_milli * use.threshold // 100
    - truncate(use.critical_pods * 1000)
    - truncate(use.critical_hosts * 1000)
    - math.max(truncate(system * 1000), reserved)
  if use.min_percent then
    left = math.max(left, use.capacity_milli * use.min_percent // 100)
  end
  return left
end

--- The CPU set for best-effort pods, or nil when it stays as it is, and why.
--- cpus: lse, lsr, reserved and system are cpu sets; current is the set in force.
local function next_cpuset(topology, left, cpus)
  local all = topology:cpus()
  local ordinary = all - cpus.lse - cpus.system - cpus.reserved
  if #ordinary == 0 then
    -- No CPU is left for sharing. Best-effort pods keep two, the least harmful ones.
    for _, from in ipairs({ all - cpus.lse - cpus.system, all - cpus.lse, all }) do
      if #from > 0 then
        return topology:pick_set(from, math.min(MIN_CPUS, #from)),
          "no LS or LSR CPU is left, two CPUs are kept"
      end
    end
    return nil, "the machine shows no CPU"
  end

  local n = math.max(math.ceil(left / 1000), MIN_CPUS)
  n = math.min(n, #cpus.current + math.ceil(topology:count() * GROWTH))

  -- CPUs of LSR pods are shared in proportion to their number.
  local lsr = ordinary & cpus.lsr
  local from_lsr = n * #lsr // #ordinary
  local set = topology:pick_set(lsr, from_lsr)
    + topology:pick_set(ordinary - lsr, n - from_lsr)
  if #set < n then
    return nil, ("%d CPUs are wanted, %d can be had"):format(n, #ordinary)
  end
  return set, ("%dm are left"):format(left)
end

--- The quota in microseconds per period, or nil when the one in force stays.
local function next_quota(left, current, capacity_cores)
  local quota = math.max(truncate(left * PERIOD / 1000), MIN_QUOTA)
  local node = capacity_cores * PERIOD
  if math.abs(quota - current) < node * IGNORED and quota ~= MIN_QUOTA then
    return nil
  end
  local step = node * GROWTH
  if current ~= -1 and quota - current > step then
    quota = current + truncate(step)
  end
  return quota
end

--- All that best-effort pods may ever use.
local function pool(all, cpus)
  return all - cpus.lse - cpus.system - cpus.reserved
end

--- Which directories get which set. A kubelet with the static CPU manager writes the sets
--- of its containers; a narrower directory above them would make these writes fail.
local function levels(kubelet_policy, whole, set)
  if kubelet_policy == "static" then
    return { qos = whole, pod = whole, container = set }
  end
  return { qos = set, pod = set, container = set }
end

-- Sums over the workloads of a sample. One without a reading counts as use of the system.
local function sum_use(ctx, node)
  local use = {
    capacity_milli = node.capacity_milli,
    allocatable_milli = node.allocatable_milli,
    reserved_milli = node.reserved_milli or 0,
    threshold = ctx.params.threshold,
    min_percent = ctx.params.min_percent,
    node = node.used_cores,
    pods = 0, critical_pods = 0, hosts = 0, critical_hosts = 0,
  }
  for _, w in ipairs(node.workloads) do
    local cores = w.used_cores or 0
    local what = w.source == "host" and "hosts" or "pods"
    use[what] = use[what] + cores
    if w.is_critical then
      use["critical_" .. what] = use["critical_" .. what] + cores
    end
  end
  return use
end

local function sum_cpus(ctx, node)
  local cpus = { lse = ctx.cpuset(), lsr = ctx.cpuset(),
                 reserved = node.reserved_cpus, system = node.system_cpus }
  for _, w in ipairs(node.workloads) do
    -- What a kubelet gave to a pod without a class is nobody else's either.
    if w.qos == "LSE" or w.qos == "" and w.source == "kubelet" then
      cpus.lse = cpus.lse + w.exclusive_cpus
    elseif w.qos == "LSR" then
      cpus.lsr = cpus.lsr + w.exclusive_cpus
    end
  end
  return cpus
end

local function by_cpuset(ctx, node, left)
  local cpus = sum_cpus(ctx, node)
  local is_static = node.kubelet_cpu_policy == "static"
  -- With the static manager the directory is open; what containers have is what we gave
  -- them.
  cpus.current = is_static and ctx.memo.cpus and ctx.cpuset(ctx.memo.cpus)
    or node.besteffort.cpus
  local set, why = next_cpuset(node.topology, left, cpus)
  set = set or cpus.current
  ctx.memo.cpus = tostring(set)
  if #set == 0 then
    return {}
  end
  local whole = pool(node.topology:cpus(), cpus)
  local level = levels(node.kubelet_cpu_policy, #whole > 0 and whole or set, set)
  return {
    { target = "besteffort", key = "cpuset.cpus", value = level.qos, why = why },
    { target = "besteffort.pods", key = "cpuset.cpus", value = level.pod, why = why },
    { target = "besteffort.containers", key = "cpuset.cpus", value = level.container,
      why = why },
  }
end

local function by_quota(node, left)
  local milli = node.besteffort.max_milli or -1
  local current = milli == -1 and -1 or milli * (PERIOD // 1000)
  local quota = next_quota(left, current, node.capacity_milli // 1000)
  local why = ("%dm are left"):format(left)
  if quota then
    milli = quota // (PERIOD // 1000)
  else
    why = why .. ", too small a change"
  end
  if milli ~= -1 then -- somebody else may have set less than we do
    milli = math.max(milli, MIN_QUOTA // (PERIOD // 1000))
  end
  return { { target = "besteffort", key = "cpu.max_milli", value = milli, why = why } }
end

--- The rules, in the words of the test vectors.

local function list(ctx, text)
  return ctx.cpuset(text or "") or ctx.cpuset()
end

local function given_cpus(ctx, given)
  local cpus = { lse = ctx.cpuset(), lsr = ctx.cpuset(), system = ctx.cpuset(),
                 reserved = list(ctx, given.reservedCPUs),
                 current = list(ctx, given.currentCPUSet) }
  for _, pod in ipairs(given.pods or {}) do
    if pod.qos == "LSE" then
      cpus.lse = cpus.lse + list(ctx, pod.cpuset)
    elseif pod.qos == "LSR" then
      cpus.lsr = cpus.lsr + list(ctx, pod.cpuset)
    end
  end
  local system = given.systemQOS
  if system and system.cpusetExclusive ~= false and system.exclusive ~= false then
    cpus.system = list(ctx, system.cpuset)
  end
  return cpus
end

local function rule_suppress_cpu(_, given)
  if not (given.capacityMilli and given.allocatableMilli and given.nodeUsedCores
          and given.pods and given.podUsedCores) then
    return { skip = true }
  end
  local use = {
    capacity_milli = given.capacityMilli,
    allocatable_milli = given.allocatableMilli,
    reserved_milli = given.annotationReservedMilli or 0,
    threshold = given.thresholdPercent or 65,
    min_percent = given.minPercent,
    node = given.nodeUsedCores,
    pods = 0, critical_pods = 0, hosts = 0, critical_hosts = 0,
  }
  local besteffort = {}
  for _, pod in ipairs(given.pods) do
    besteffort[pod.uid] = pod.qos == "BE" or pod.kubeQOS == "BestEffort"
  end
  -- A sample whose pod is unknown counts as critical.
  for uid, cores in pairs(given.podUsedCores) do
    use.pods = use.pods + cores
    if not besteffort[uid] then
      use.critical_pods = use.critical_pods + cores
    end
  end
  for _, app in ipairs(given.hostApps or {}) do
    local cores = (given.hostAppUsedCores or {})[app.name]
    if cores then
      use.hosts = use.hosts + cores
      if not (app.qos == "BE" and app.cgroupBase == "KubepodsBesteffort") then
        use.critical_hosts = use.critical_hosts + cores
      end
    end
  end
  return { milli = left_milli(use) }
end

local function rule_pick_cpus(_, given)
  local topology = given.processors
  return { cpus = topology:pick(topology:cpus(), given.count) }
end

local function rule_adjust_cpuset(ctx, given)
  if not (given.targetMilli and given.processors) then
    return { skip = true }
  end
  local set = next_cpuset(given.processors, given.targetMilli, given_cpus(ctx, given))
  return { cpuset = set or given.currentCPUSet, written = set ~= nil }
end

local function rule_adjust_cfs_quota(_, given)
  if not (given.targetMilli and given.currentQuota and given.capacityCores) then
    return { skip = true }
  end
  local quota = next_quota(given.targetMilli, given.currentQuota, given.capacityCores)
  return { quota = quota or given.currentQuota, written = quota ~= nil }
end

-- Runs every round, whatever happened before.
local function rule_recover_cpuset(ctx, given)
  local cpus = given_cpus(ctx, given)
  return { cpuset = pool(given.processors:cpus(), cpus), status = "recovered" }
end

-- Once only: a quota that somebody sets afterwards is theirs.
local function rule_recover_cfs_quota(_, given)
  local is_done = given.status == "recovered"
  return { quota = is_done and given.currentQuota or -1, status = "recovered" }
end

local function rule_apply_levels(ctx, given)
  local whole = pool(list(ctx, given.nodeCPUs), given_cpus(ctx, given))
  local level = levels(given.kubeletPolicy, whole, list(ctx, given.newCPUSet))
  return { qosDir = level.qos, podDir = level.pod, containerDir = level.container }
end

-- For the examples: 8 CPUs on two sockets, siblings 0-1, 2-3, 4-5, 6-7.
local machine = { sockets = 2, cores = 2, threads = 2 }

local function cpuset_of(set, containers)
  return {
    { target = "besteffort", key = "cpuset.cpus", value = set },
    { target = "besteffort.pods", key = "cpuset.cpus", value = set },
    { target = "besteffort.containers", key = "cpuset.cpus", value = containers or set },
  }
end

local function quota_of(milli)
  return { { target = "besteffort", key = "cpu.max_milli", value = milli } }
end

local function busy_node(critical, besteffort, quota)
  return {
    capacity_milli = 8000, allocatable_milli = 8000, reserved_milli = 0,
    used_cores = critical + 1.0, topology = machine,
    workloads = { { id = "web", qos = "LS", is_critical = true, used_cores = critical },
                  { id = "job", qos = "BE", is_critical = false, used_cores = 0.5 } },
    besteffort = { cpus = besteffort, max_milli = quota or -1 },
  }
end

---@type neap.QosPolicy
return {
  api = 1,
  kind = "qos",
  name = "cpu-suppress",
  doc = "Best-effort pods get what others leave of a share of the node (as Koordinator).",

  params = {
    enable = { type = "boolean", default = true, doc = "false gives everything back" },
    threshold = { type = "percent", default = 65,
                  doc = "share of the node that all pods together may use" },
    min_percent = { type = "percent",
                    doc = "share of the node best-effort pods always get; unset: 0" },
    policy = { type = "enum", values = { "cpuset", "cfsQuota" }, default = "cpuset",
               doc = "how CPU is taken away: by a CPU set or by a quota" },
  },

  needs = { "capacity_milli", "allocatable_milli", "reserved_milli?", "reserved_cpus",
            "system_cpus", "used_cores", "topology", "kubelet_cpu_policy?",
            "besteffort.cpus", "besteffort.max_milli?",
            "workloads.source", "workloads.qos", "workloads.is_critical",
            "workloads.used_cores", "workloads.exclusive_cpus" },

  ---@param ctx neap.Ctx
  ---@param node neap.NodeSample
  ---@return neap.Write[]
  tick = function(ctx, node)
    if not ctx.params.enable then
      return {}
    end
    -- The way that is not taken is given back, because it is not written any more.
    local left = left_milli(sum_use(ctx, node))
    if ctx.params.policy == "cfsQuota" then
      ctx.memo.cpus = nil
      return by_quota(node, left)
    end
    return by_cpuset(ctx, node, left)
  end,

  rules = {
    suppress_cpu = rule_suppress_cpu,
    pick_cpus = rule_pick_cpus,
    adjust_cpuset = rule_adjust_cpuset,
    adjust_cfs_quota = rule_adjust_cfs_quota,
    recover_cpuset = rule_recover_cpuset,
    recover_cfs_quota = rule_recover_cfs_quota,
    apply_levels = rule_apply_levels,
  },

  -- 8000m * 65 % = 5200m, less the critical pods, less 500m that belong to nobody.
  examples = {
    { name = "a calm node leaves 3.7 CPUs", node = busy_node(1.0, "0-7"),
      want = cpuset_of("0-1,4-5") },
    { name = "a busy node leaves the minimum", node = busy_node(6.0, "0-7"),
      want = cpuset_of("0-1") },
    { name = "growth is one step of a tenth", node = busy_node(0.0, "0-1"),
      want = cpuset_of("0-1,4") },
    { name = "the static CPU manager keeps its directories",
      node = { kubelet_cpu_policy = "static" },
      steps = {
        { node = busy_node(6.0, "0-7"), want = cpuset_of("0-7", "0-1") },
        { node = busy_node(0.0, "0-7"), want = cpuset_of("0-7", "0-1,4") },
      } },
    { name = "by quota", params = { policy = "cfsQuota" }, node = busy_node(1.0, "0-7"),
      want = quota_of(3700) },
    { name = "a quota grows by a tenth of the node", params = { policy = "cfsQuota" },
      node = busy_node(1.0, "0-7", 1000), want = quota_of(1800) },
    { name = "a quota is left alone for less than a hundredth",
      params = { policy = "cfsQuota" },
      node = busy_node(1.0, "0-7", 3650), want = quota_of(3650) },
    { name = "a quota has a floor", params = { policy = "cfsQuota" },
      node = busy_node(7.0, "0-7", 3650), want = quota_of(20) },
    { name = "a minimum for best-effort pods", params = { min_percent = 50 },
      node = busy_node(6.0, "0-7"), want = cpuset_of("0-1,4-5") },
    { name = "switched off", params = { enable = false }, node = busy_node(1.0, "0-7"),
      want = {} },
    { name = "no reading of the node", node = { capacity_milli = 8000 }, want = "skip" },
  },
}
