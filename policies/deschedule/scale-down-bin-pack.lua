-- SPDX-License-Identifier: Apache-2.0

--- Ranks pods so that a scale-down empties whole nodes: those of nodes that hold little
--- else go first. CalculateOnly writes the rank as the pod's deletion cost, for whoever
--- scales down; EvictDirectly evicts the first ones.

--- The largest cost: such a pod goes last.
local NEVER = 2147483647

local function weighted(node, params, amount_of)
  local sum = 0
  for _, name in ipairs(params.resources) do
    local allocatable = node:allocatable(name) or 0
    if allocatable > 0 then
      sum = sum + (params.resourceWeights[name] or 1) * amount_of(name) / allocatable
    end
  end
  return sum
end

local function selects(params, pod)
  local labels = pod.labels
  for _, entry in ipairs(params.podSelectors or {}) do
    if entry.selector:matches(labels) then
      return true
    end
  end
  return not params.podSelectors or #params.podSelectors == 0
end

--- What the node holds: eligible pods, larger first; pods that were selected and may not
--- leave; and how much of it all is not eligible.
local function look(round, node, params)
  local eligible, skipped, is_eligible = {}, {}, {}
  for i, entry in ipairs(params.podSelectors or {}) do
    is_eligible[i] = entry.selector
  end
  for _, pod in ipairs(node:pods({ evictable = true, namespaces = params.evictableNamespaces,
      any_of = is_eligible })) do
    eligible[#eligible + 1] = pod
  end
  local taken, rest = {}, {}
  for _, pod in ipairs(eligible) do
    taken[pod] = true
  end
  for _, pod in ipairs(node:pods()) do
    if not taken[pod] then
      rest[#rest + 1] = pod
      if selects(params, pod) then
        skipped[#skipped + 1] = pod
      end
    end
  end
  local function size(pods)
    return weighted(node, params, function(name)
      local sum = 0
      for _, pod in ipairs(pods) do
        sum = sum + pod:requests(name)
      end
      return sum
    end)
  end
  local sizes = {}
  for i, pod in ipairs(eligible) do
    sizes[i] = size({ pod })
  end
  local own, other = size(eligible), size(rest)
  return {
    node = node, skipped = skipped,
    eligible = round:sort(eligible, { "-score", "-created", "name" }, sizes),
    score = other == 0 and 0 or own == 0 and math.huge or other / own,
  }
end

local function example_node(name)
  return { metadata = { name = name },
           status = { allocatable = { cpu = "10", memory = "10Gi", pods = "10" } } }
end

local function example_pod(name, node, cpu)
  return {
    metadata = { name = name, namespace = "default",
                 ownerReferences = { { kind = "ReplicaSet", name = "r", uid = "r" } } },
    spec = { nodeName = node, containers = { { name = "c", image = "web:1",
             resources = { requests = { cpu = cpu } } } } },
    status = { phase = "Running" },
  }
end

---@type neap.DeschedulePolicy
return {
  api = 1,
  kind = "deschedule",
  name = "scale-down-bin-pack",
  plugin = "ScaleDownBinPack",
  point = "balance",
  doc = "Ranks pods so that a scale-down empties whole nodes.",

  params = {
    paused = { type = "boolean", default = false, doc = "do nothing" },
    strategy = { type = "string", default = "CalculateOnly",
                 doc = "CalculateOnly: write deletion costs; EvictDirectly: evict the first" },
    maxPodsToEvict = { type = "integer", min = 0,
                       doc = "evictions of a round; needed for EvictDirectly" },
    nodeSelector = { type = "selector", doc = "the nodes that are looked at" },
    podSelectors = { type = "list", of = { type = "object", fields = {
      name = { type = "string" },
      selector = { type = "selector", required = true },
    } }, doc = "the pods that are ranked; none: all" },
    evictableNamespaces = { type = "object", at_most_one = { "include", "exclude" }, fields = {
      include = { type = "list", of = "string", max_items = 1024 },
      exclude = { type = "list", of = "string", max_items = 1024 },
    }, doc = "the namespaces whose pods are ranked, or are not" },
    resources = { type = "list", of = "string", default = { "cpu", "memory" },
                  doc = "the resources that count" },
    resourceWeights = { type = "map", of = "number", default = {},
                        doc = "how much each counts [1]" },
  },

  valid = function(params)
    if params.strategy ~= "CalculateOnly" and params.strategy ~= "EvictDirectly" then
      return { { field = "strategy", message = "strategy must be CalculateOnly or EvictDirectly" } }
    elseif params.strategy == "EvictDirectly" and (params.maxPodsToEvict or 0) <= 0 then
      return { { field = "maxPodsToEvict",
                 message = "maxPodsToEvict must be positive when strategy is EvictDirectly" } }
    end
    for name, weight in pairs(params.resourceWeights) do
      if weight <= 0 or weight == math.huge then
        return { { field = "resourceWeights." .. name,
                   message = "weights must be positive finite floats" } }
      end
    end
  end,

  ---@param ctx neap.Ctx
  ---@param round neap.Round
  run = function(ctx, round)
    local params = ctx.params
    if params.paused then
      return
    end
    local rows = {}
    for _, node in ipairs(round:nodes(params.nodeSelector)) do
      local row = look(round, node, params)
      if #row.eligible > 0 then
        rows[#rows + 1] = row
      end
    end
    table.sort(rows, function(a, b)
      if a.score ~= b.score then
        return a.score < b.score
      elseif #a.eligible ~= #b.eligible then
        return #a.eligible < #b.eligible
      end
      return a.node.name < b.node.name
    end)
    local rank, evicted = 0, 0
    for _, row in ipairs(rows) do
      for _, pod in ipairs(row.eligible) do
        if params.strategy == "CalculateOnly" then
          round:set_deletion_cost(pod, rank)
        else
          if evicted >= params.maxPodsToEvict then
            return
          end
          local ok, reason = round:evict(pod, "scale-down binpack")
          if ok then
            evicted = evicted + 1
          elseif reason == "total-limit" then
            return
          end
        end
        rank = rank + 1
      end
      for _, pod in ipairs(params.strategy == "CalculateOnly" and row.skipped or {}) do
        round:set_deletion_cost(pod, NEVER)
      end
    end
  end,

  examples = {
    { name = "the node with little else is emptied",
      params = { strategy = "EvictDirectly", maxPodsToEvict = 1,
                 podSelectors = { { selector = { matchExpressions = {
                   { key = "keep", operator = "DoesNotExist" } } } } } },
      cluster = {
        nodes = { example_node("n1"), example_node("n2") },
        pods = { example_pod("a", "n1", "1"), example_pod("b", "n2", "1"),
                 { metadata = { name = "other", namespace = "default", labels = { keep = "yes" } },
                   spec = { nodeName = "n1", containers = { { name = "c", image = "x",
                            resources = { requests = { cpu = "5" } } } } },
                   status = { phase = "Running" } } },
      },
      want = { evict = { "default/b" } } },
    { name = "costs alone evict nobody",
      cluster = { nodes = { example_node("n1"), example_node("n2") },
                  pods = { example_pod("a", "n1", "1") } },
      want = { evict = {} } },
  },
}
