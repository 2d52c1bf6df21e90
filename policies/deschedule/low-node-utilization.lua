-- SPDX-License-Identifier: Apache-2.0

--- Takes pods off nodes that are over-used while others are under-used. Use is what pods
--- request, or what is measured. A node is under-used when it is below all thresholds,
--- and over-used when it is above one of the target thresholds.

local MEASURED, PROMETHEUS = "KubernetesMetrics", "Prometheus"

--- Where use comes from: what of a node, and of a pod (nil: not known).
local function requests_of()
  return {
    node = function(node, name)
      return node:requested(name)
    end,
    pod = function(pod, name)
      return name == "pods" and 1 or pod:requests(name)
    end,
    capacity = function(node, name)
      return node:allocatable(name)
    end,
  }
end

local function metrics_of()
  return {
    node = function(node, name)
      if name == "pods" then
        return node.pod_count
      end
      return node:measured(name) or error(("node %s has no metric of %s"):format(node.name, name))
    end,
    pod = function(pod, name)
      return name == "pods" and 1 or pod:measured(name)
    end,
    capacity = function(node, name)
      return node:allocatable(name)
    end,
  }
end

local function samples_of()
  return {
    node = function(node)
      return math.floor((node.sample or error(("node %s has no sample"):format(node.name))) * 100)
    end,
    capacity = function()
      return 100
    end,
  }
end

local function source_of(params)
  local metrics = params.metricsUtilization
  if metrics and metrics.source == PROMETHEUS then
    return samples_of(), true
  elseif metrics and (metrics.source == MEASURED or metrics.metricsServer) then
    return metrics_of(), false
  end
  return requests_of(), false
end

local function tracked(params, is_sampled)
  if is_sampled then
    return { "MetricResource" }
  end
  local names = { "cpu", "memory", "pods" }
  for name in pairs(params.thresholds) do
    if name ~= "cpu" and name ~= "memory" and name ~= "pods" then
      names[#names + 1] = name
    end
  end
  return names
end

local function clamp(value)
  return math.max(0, math.min(100, value))
end

--- What each node uses, in percent and in amounts.
local function look(nodes, names, source)
  local uses = {}
  for i, node in ipairs(nodes) do
    local use = { node = node, at = i, used = {}, capacity = {}, percent = {}, total = 0 }
    for _, name in ipairs(names) do
      local used, capacity = source.node(node, name), source.capacity(node, name)
      use.used[name], use.capacity[name] = used, capacity
      use.percent[name] = capacity and capacity > 0 and used / capacity * 100 or 0
      use.total = use.total + used
    end
    uses[i] = use
  end
  return uses
end

--- The bounds in percent: as they are given, or around the average.
local function bounds_of(params, uses)
  if not params.useDeviationThresholds then
    return params.thresholds, params.targetThresholds
  end
  local low, high = {}, {}
  for name, threshold in pairs(params.thresholds) do
    local sum, count = 0, 0
    for _, use in ipairs(uses) do
      if use.capacity[name] then
        sum, count = sum + use.percent[name], count + 1
      end
    end
    local average = count > 0 and sum / count or 0
    low[name] = clamp(average - threshold)
    high[name] = clamp(average + params.targetThresholds[name])
  end
  return low, high
end

local function is_under(use, low)
  for name, threshold in pairs(low) do
    if use.percent[name] > threshold then
      return false
    end
  end
  return not use.node.is_cordoned
end

local function is_over(use, high)
  for name, threshold in pairs(high) do
    if use.percent[name] > threshold then
      return true
    end
  end
  return false
end

--- What of a node's capacity a bound in percent is.
local function share(capacity, threshold)
  return threshold and math.floor(threshold * 0.01 * capacity) or capacity
end

--- Whether more must leave the node, and has room elsewhere.
local function goes_on(use, high, room)
  for _, left in pairs(room) do
    if left <= 0 then
      return false
    end
  end
  for name, used in pairs(use.used) do
    if used > share(use.capacity[name] or 0, high[name]) then
      return true
    end
  end
  return false
end

local function example_pod(name, node, cpu)
  return {
    metadata = { name = name, namespace = "default",
                 ownerReferences = { { kind = "ReplicaSet", name = "r", uid = "r" } } },
    spec = { nodeName = node,
             containers = { { name = "c", image = "web:1",
                              resources = { requests = { cpu = cpu } } } } },
    status = { phase = "Running" },
  }
end

local function example_node(name)
  return { metadata = { name = name },
           status = { allocatable = { cpu = "4", memory = "8Gi", pods = "10" } } }
end

---@type neap.DeschedulePolicy
return {
  api = 1,
  kind = "deschedule",
  name = "low-node-utilization",
  plugin = "LowNodeUtilization",
  point = "balance",
  doc = "Takes pods off over-used nodes while others are under-used.",

  params = {
    thresholds = { type = "map", of = { type = "number", min = 0, max = 100 }, required = true,
                   doc = "percent by resource; a node below all of them is under-used" },
    targetThresholds = { type = "map", of = { type = "number", min = 0, max = 100 },
                         required = true,
                         doc = "percent by resource; a node above one of them is over-used" },
    useDeviationThresholds = { type = "boolean", default = false,
                               doc = "thresholds are distances from the average" },
    numberOfNodes = { type = "integer", min = 0, default = 0,
                      doc = "nothing is done unless more nodes than these are under-used" },
    evictableNamespaces = { type = "object", fields = {
      exclude = { type = "list", of = "string", max_items = 1024 },
    }, doc = "namespaces whose pods stay" },
    evictionLimits = { type = "object", fields = {
      node = { type = "integer", min = 0, doc = "evictions of one node in a round" },
    }, doc = "limits of this strategy alone" },
    metricsUtilization = { type = "object", fields = {
      source = { type = "enum", values = { MEASURED, PROMETHEUS },
                 doc = "where use is measured" },
      metricsServer = { type = "boolean", default = false,
                        doc = "older name of KubernetesMetrics" },
      prometheus = { type = "object", fields = {
        query = { type = "string",
                  doc = "PromQL for 0 to 1 a node, whose name is in the label instance" },
      }, doc = "of source Prometheus, which neapd asks before the round" },
    }, doc = "measured use in place of requests" },
  },

  valid = function(params)
    local low, high, metrics = params.thresholds, params.targetThresholds, params.metricsUtilization
    local problems = {}
    local function bad(field, message)
      problems[#problems + 1] = { field = field, message = message }
    end
    if next(low) == nil then
      bad("thresholds", "it needs a resource")
    end
    for name, value in pairs(low) do
      if not high[name] then
        bad("targetThresholds", ("%s is in thresholds and not here"):format(name))
      elseif value > high[name] and not params.useDeviationThresholds then
        bad("thresholds", ("%s is above its target threshold"):format(name))
      end
    end
    for name in pairs(high) do
      if not low[name] then
        bad("thresholds", ("%s is in targetThresholds and not here"):format(name))
      end
    end
    if metrics and metrics.source and metrics.metricsServer then
      bad("metricsUtilization.metricsServer", "not together with source")
    end
    if metrics and metrics.prometheus and metrics.source ~= PROMETHEUS then
      bad("metricsUtilization.prometheus", "of source Prometheus only")
    end
    if metrics and metrics.source == PROMETHEUS then
      if not metrics.prometheus or (metrics.prometheus.query or "") == "" then
        bad("metricsUtilization.prometheus.query", "it is needed")
      end
      if not low.MetricResource or next(low, next(low)) ~= nil then
        bad("thresholds", "source Prometheus has one resource, MetricResource")
      end
    end
    return problems
  end,

  ---@param ctx neap.Ctx
  ---@param round neap.Round
  run = function(ctx, round)
    local params = ctx.params
    local source, is_sampled = source_of(params)
    local names = tracked(params, is_sampled)
    local nodes = round:nodes()
    local uses = look(nodes, names, source)
    local low, high = bounds_of(params, uses)
    local under, over = {}, {}
    for _, use in ipairs(uses) do
      if is_under(use, low) then
        under[#under + 1] = use
      elseif is_over(use, high) then
        over[#over + 1] = use
      end
    end
    if #under == 0 or #under <= params.numberOfNodes or #under == #nodes or #over == 0 then
      return
    end

    local room, targets = {}, {}
    for _, name in ipairs(names) do
      room[name] = 0
      for i, use in ipairs(under) do
        targets[i] = use.node
        room[name] = room[name] + share(use.capacity[name] or 0, high[name]) - use.used[name]
      end
    end
    local target_set = round:set(targets)
    table.sort(over, function(a, b)
      if a.total ~= b.total then
        return a.total > b.total
      end
      return a.at < b.at
    end)

    -- What a pod uses is not sampled: one leaves, or as many as are allowed.
    local limit = params.evictionLimits and params.evictionLimits.node
    if is_sampled then
      limit = limit or 1
    end

    --- Amounts of the pod by name; nil when one of them is not measured.
    local function amounts_of(pod)
      local amounts = {}
      for _, name in ipairs(source.pod and names or {}) do
        amounts[name] = source.pod(pod, name)
        if not amounts[name] then
          return nil
        end
      end
      return amounts
    end

    local function relieve(use)
      local count = 0
      for _, pod in ipairs(use.node:pods({ evictable = true,
          namespaces = params.evictableNamespaces,
          order = { "priority", "kube_qos", "prefers_stay" } })) do
        if limit and count >= limit or not goes_on(use, high, room) then
          return
        end
        local amounts = pod:tolerates_some(target_set) and amounts_of(pod)
        local ok, reason
        if amounts then
          ok, reason = round:evict(pod, "its node is over-used")
        end
        if ok then
          count = count + 1
          for name, amount in pairs(amounts) do
            use.used[name] = use.used[name] - amount
            room[name] = room[name] - amount
          end
        elseif reason == "node-limit" or reason == "total-limit" then
          return reason
        end
      end
    end

    for _, use in ipairs(over) do
      if relieve(use) == "total-limit" then
        return
      end
    end
  end,

  examples = {
    { name = "one is full, one is empty",
      params = { thresholds = { cpu = 30 }, targetThresholds = { cpu = 50 } },
      cluster = {
        nodes = { example_node("n1"), example_node("n2") },
        pods = { example_pod("p1", "n1", "1500m"), example_pod("p2", "n1", "1500m"),
                 example_pod("p3", "n2", "500m") },
      },
      want = { count = 1 } },
    { name = "nobody is under-used",
      params = { thresholds = { cpu = 10 }, targetThresholds = { cpu = 50 } },
      cluster = {
        nodes = { example_node("n1"), example_node("n2") },
        pods = { example_pod("p1", "n1", "1500m"), example_pod("p2", "n1", "1500m"),
                 example_pod("p3", "n2", "500m") },
      },
      want = { count = 0 } },
  },
}
