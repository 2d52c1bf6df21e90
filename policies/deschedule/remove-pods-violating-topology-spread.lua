-- SPDX-License-Identifier: Apache-2.0

--- Evicts pods from crowded topology domains, until their spread constraints hold again.
--- In a domain the least important pods leave first, those without node constraints
--- before those with them.

--- Domains by size, the smallest first, with their pods in the order in which they stay.
local function sort_domains(round, spread)
  local domains = round:domains(spread)
  for i, domain in ipairs(domains) do
    domain.number = i
    domain.pods = round:sort(domain.pods, { "-constrained", "-priority" })
  end
  table.sort(domains, function(a, b)
    if #a.pods ~= #b.pods then
      return #a.pods < #b.pods
    end
    return a.number < b.number
  end)
  return domains
end

--- Those that fit elsewhere go to the end, from where pods leave.
local function put_movable_last(pods, fits)
  local stays, moves = {}, {}
  for _, pod in ipairs(pods) do
    local list = fits(pod) and moves or stays
    list[#list + 1] = pod
  end
  return table.move(moves, 1, #moves, #stays + 1, stays)
end

--- Moves pods, in thought, from large domains to small ones; leave(pod) for each.
local function balance(round, spread, with_fit, leave)
  local domains = sort_domains(round, spread)
  local average = spread.pod_count / #domains
  local known = {}
  local function fits(pod)
    local is = known[pod.index]
    if is == nil then
      is = round:fits_below(spread, pod)
      known[pod.index] = is
    end
    return is
  end

  local low, high = 1, #domains
  while low < high do
    if #domains[high].pods <= average then
      high = high - 1
    end
    local from, to = domains[high], domains[low]
    local skew = #from.pods - #to.pods
    local count = math.min(math.ceil(#from.pods - average), math.ceil(average - #to.pods),
      math.ceil((skew - spread.max_skew) / 2))
    if skew <= spread.max_skew or count <= 0 then
      low = low + 1
    else
      local pods = put_movable_last(from.pods, fits)
      for _ = 1, count do
        local pod = table.remove(pods)
        -- One that fits nowhere counts as moved: another must not leave in its place.
        if not with_fit or fits(pod) then
          leave(pod)
        end
        to.pods[#to.pods + 1] = pod
      end
      from.pods = pods
    end
  end
end

local function is_balanced(spread)
  local least, most = math.huge, 0
  for _, size in ipairs(spread.sizes) do
    least, most = math.min(least, size), math.max(most, size)
  end
  return #spread.sizes == 0 or most - least <= spread.max_skew
end

local function example_pod(name, node)
  return {
    metadata = { name = name, namespace = "default", labels = { app = "web" },
                 ownerReferences = { { kind = "ReplicaSet", name = "r", uid = "r" } } },
    spec = { nodeName = node, topologySpreadConstraints = { {
      maxSkew = 1, topologyKey = "zone", whenUnsatisfiable = "DoNotSchedule",
      labelSelector = { matchLabels = { app = "web" } } } } },
    status = { phase = "Running" },
  }
end

---@type neap.DeschedulePolicy
return {
  api = 1,
  kind = "deschedule",
  name = "remove-pods-violating-topology-spread",
  plugin = "RemovePodsViolatingTopologySpreadConstraint",
  point = "balance",
  doc = "Evicts pods of crowded topology domains.",

  params = {
    namespaces = { type = "object", at_most_one = { "include", "exclude" }, fields = {
      include = { type = "list", of = "string", max_items = 1024 },
      exclude = { type = "list", of = "string", max_items = 1024 },
    }, doc = "the namespaces whose pods may leave, or may not" },
    labelSelector = { type = "selector", doc = "the pods that are looked at" },
    constraints = { type = "list",
                    of = { type = "enum", values = { "DoNotSchedule", "ScheduleAnyway" } },
                    default = { "DoNotSchedule" }, doc = "which constraints count" },
    topologyBalanceNodeFit = { type = "boolean", default = true,
                               doc = "a pod that fits no node of a smaller domain stays" },
  },

  ---@param ctx neap.Ctx
  ---@param round neap.Round
  run = function(ctx, round)
    local params = ctx.params
    local pods = round:pods({ evictable = true, namespaces = params.namespaces,
                              labels = params.labelSelector })
    -- Nothing is evicted before all constraints were looked at: a pod that leaves still
    -- counts in its domain.
    local leaving, why = {}, {}
    for _, spread in ipairs(round:spreads(pods, params.constraints)) do
      if not is_balanced(spread) then
        local text = ("domains of %s differ by more than %d"):format(
          spread.topology_key, spread.max_skew)
        balance(round, spread, params.topologyBalanceNodeFit, function(pod)
          leaving[#leaving + 1], why[#why + 1] = pod, text
        end)
      end
    end
    local full = {}
    for i, pod in ipairs(leaving) do
      local node = pod.node.name
      if not full[node] then
        local _, reason = round:evict(pod, why[i])
        full[node] = reason == "node-limit" or nil
        if reason == "total-limit" then
          return
        end
      end
    end
  end,

  examples = {
    { name = "three and none",
      cluster = {
        nodes = { { metadata = { name = "n1", labels = { zone = "a" } } },
                  { metadata = { name = "n2", labels = { zone = "b" } },
                    status = { allocatable = { pods = "10" } } } },
        pods = { example_pod("p1", "n1"), example_pod("p2", "n1"), example_pod("p3", "n1") },
      },
      want = { count = 1 } },
    { name = "within the skew",
      cluster = {
        nodes = { { metadata = { name = "n1", labels = { zone = "a" } } },
                  { metadata = { name = "n2", labels = { zone = "b" } },
                    status = { allocatable = { pods = "10" } } } },
        pods = { example_pod("p1", "n1"), example_pod("p2", "n1"), example_pod("p3", "n2") },
      },
      want = { count = 0 } },
  },
}
