-- SPDX-License-Identifier: Apache-2.0

--- Empties nodes that are little used, so that they can be switched off: their pods leave
--- for the other nodes, as long as those have room. Use is what pods request. Pods that a
--- limit or a disruption budget holds back until a later round keep their room.

local function percent(used, capacity)
  return capacity > 0 and used / capacity * 100 or 0
end

local function is_under_used(node, thresholds)
  for name, threshold in pairs(thresholds) do
    if percent(node:requested(name), node:allocatable(name) or 0) > threshold then
      return false
    end
  end
  return true
end

--- Whether the pod requests something of what has a threshold.
local function requests_some(pod, thresholds)
  for name in pairs(thresholds) do
    if pod:requests(name) > 0 then
      return true
    end
  end
  return false
end

local function has_room(room)
  for _, left in pairs(room) do
    if left <= 0 then
      return false
    end
  end
  return true
end

--- Answers after which the pod can leave in a later round.
local later = {
  ["node-limit"] = true, ["namespace-limit"] = true, ["workload-limit"] = true, budget = true,
}

local function total(node, names)
  local sum = 0
  for _, name in ipairs(names) do
    sum = sum + node:requested(name)
  end
  return sum
end

--- The nodes in the order of what they use, the least first.
local function sort_by_use(nodes, names)
  local use = {}
  for i, node in ipairs(nodes) do
    use[i] = { node = node, total = total(node, names), at = i }
  end
  table.sort(use, function(a, b)
    if a.total ~= b.total then
      return a.total < b.total
    end
    return a.at < b.at
  end)
  return use
end

local function tracked(thresholds)
  local names = { "cpu", "memory", "pods" }
  for name in pairs(thresholds) do
    if name ~= "cpu" and name ~= "memory" and name ~= "pods" then
      names[#names + 1] = name
    end
  end
  return names
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
  name = "high-node-utilization",
  plugin = "HighNodeUtilization",
  point = "balance",
  doc = "Empties nodes that are little used.",

  params = {
    thresholds = { type = "map", of = { type = "number", min = 0, max = 100 }, required = true,
                   doc = "percent of allocatable; a node below all of them is emptied" },
    numberOfNodes = { type = "integer", min = 0, default = 0,
                      doc = "nothing is done unless more nodes than these are under-used" },
    evictionModes = { type = "list",
                      of = { type = "enum", values = { "OnlyThresholdingResources" } },
                      doc = "only pods that request a resource with a threshold" },
    evictableNamespaces = { type = "object", fields = {
      exclude = { type = "list", of = "string", max_items = 1024 },
    }, doc = "namespaces whose pods stay" },
  },

  valid = function(params)
    if next(params.thresholds) == nil then
      return { { field = "thresholds", message = "it needs a resource" } }
    end
  end,

  ---@param ctx neap.Ctx
  ---@param round neap.Round
  run = function(ctx, round)
    local params = ctx.params
    local only_some = params.evictionModes and #params.evictionModes > 0
    local names = tracked(params.thresholds)
    local nodes, sources, targets = round:nodes(), {}, {}
    for _, node in ipairs(nodes) do
      if is_under_used(node, params.thresholds) then
        sources[#sources + 1] = node
      elseif not node.is_cordoned then
        targets[#targets + 1] = node
      end
    end
    if #sources == 0 or #sources <= params.numberOfNodes or #sources == #nodes or #targets == 0 then
      return
    end

    local room = {}
    for _, name in ipairs(names) do
      room[name] = 0
      for _, node in ipairs(targets) do
        room[name] = room[name] + (node:allocatable(name) or 0) - node:requested(name)
      end
    end
    local target_set = round:set(targets)

    -- Pods that wait for a later round keep their room. If other nodes got it, many nodes
    -- would lose some pods, and few would lose all.
    local function empty(node)
      local is_at_limit = false
      for _, pod in ipairs(node:pods({ evictable = true, namespaces = params.evictableNamespaces,
          order = { "priority", "kube_qos", "prefers_stay" } })) do
        if not has_room(room) then
          return
        end
        if pod:tolerates_some(target_set)
          and (not only_some or requests_some(pod, params.thresholds))
        then
          local ok, reason = false, "node-limit"
          if not is_at_limit then
            ok, reason = round:evict(pod, "its node is little used", target_set)
            is_at_limit = reason == "node-limit"
          end
          if reason == "total-limit" then
            return reason
          end
          if ok or later[reason] then
            for name, left in pairs(room) do
              room[name] = left - (name == "pods" and 1 or pod:requests(name))
            end
          end
        end
      end
    end

    for _, use in ipairs(sort_by_use(sources, names)) do
      if empty(use.node) == "total-limit" then
        return
      end
    end
  end,

  examples = {
    { name = "one of two is little used",
      params = { thresholds = { cpu = 20 } },
      cluster = {
        nodes = { example_node("n1"), example_node("n2") },
        pods = { example_pod("p1", "n1", "400m"), example_pod("p2", "n2", "2") },
      },
      want = { evict = { "default/p1" } } },
    { name = "both are in use",
      params = { thresholds = { cpu = 20 } },
      cluster = {
        nodes = { example_node("n1"), example_node("n2") },
        pods = { example_pod("p1", "n1", "1"), example_pod("p2", "n2", "2") },
      },
      want = { evict = {} } },
  },
}
