-- SPDX-License-Identifier: Apache-2.0

--- Moves pods from expensive nodes to cheaper ones, level by level: a pod leaves when it
--- fits a node of a later level. Whole nodes are emptied with mode DrainNode.

local MISSES_MAX = 5

--- The first level that selects each node; lists by level.
local function levels_of(params, round)
  local levels, taken = {}, {}
  local all = round:nodes(params.nodeSelector)
  for i = 1, #all > 0 and all[#all].index or 0 do
    taken[i] = false
  end
  for i, entry in ipairs(params.evictionOrder) do
    levels[i] = {}
    for _, node in ipairs(all) do
      if not taken[node.index] and entry.nodeSelector:matches(node.labels) then
        taken[node.index] = true
        levels[i][#levels[i] + 1] = node
      end
    end
  end
  return levels
end

local function later(levels, from)
  local nodes = {}
  for i = from + 1, #levels do
    table.move(levels[i], 1, #levels[i], #nodes + 1, nodes)
  end
  return nodes
end

local RESOURCES = { "cpu", "memory", "pods" }

local function amount(pod, name)
  return name == "pods" and 1 or pod:requests(name)
end

--- The node of the targets on which the pod has room beside those that were put there in
--- thought.
local function find_place(pod, targets, placed)
  for i, node in ipairs(targets) do
    if pod:fits(node, "plain") then
      local fits = true
      placed[i] = placed[i] or { cpu = 0, memory = 0, pods = 0 }
      for _, name in ipairs(RESOURCES) do
        local free = (node:allocatable(name) or 0) - node:requested(name) - placed[i][name]
        fits = fits and amount(pod, name) <= free
      end
      if fits then
        return i
      end
    end
  end
end

local function place(pod, at, placed)
  for _, name in ipairs(RESOURCES) do
    placed[at][name] = placed[at][name] + amount(pod, name)
  end
end

local function example_node(name, price, cpu)
  return { metadata = { name = name, labels = { price = price } },
           status = { allocatable = { cpu = cpu, memory = "10Gi", pods = "10" } } }
end

local function example_pod(name, cpu)
  return {
    metadata = { name = name, namespace = "default",
                 ownerReferences = { { kind = "ReplicaSet", name = "r", uid = "r" } } },
    spec = { nodeName = "dear", containers = { { name = "c", image = "web:1",
             resources = { requests = { cpu = cpu } } } } },
    status = { phase = "Running" },
  }
end

local LEVELS = {
  { name = "dear", nodeSelector = { matchLabels = { price = "high" } } },
  { name = "cheap", nodeSelector = { matchLabels = { price = "low" } } },
}

---@type neap.DeschedulePolicy
return {
  api = 1,
  kind = "deschedule",
  name = "custom-priority",
  plugin = "CustomPriority",
  point = "balance",
  doc = "Moves pods from expensive nodes to cheaper ones.",

  params = {
    paused = { type = "boolean", default = false, doc = "do nothing" },
    dryRun = { type = "boolean", default = false, doc = "log who would leave" },
    evictableNamespaces = { type = "object", at_most_one = { "include", "exclude" }, fields = {
      include = { type = "list", of = "string", max_items = 1024 },
      exclude = { type = "list", of = "string", max_items = 1024 },
    }, doc = "the namespaces whose pods may leave, or may not" },
    nodeSelector = { type = "selector", doc = "the nodes that are looked at" },
    podSelectors = { type = "list", of = { type = "object", fields = {
      name = { type = "string" },
      selector = { type = "selector", required = true },
    } }, doc = "pods that one of them selects may leave; none: all" },
    nodeFit = { type = "boolean", default = true, doc = "only pods that fit a cheaper node leave" },
    evictionOrder = { type = "list", required = true, of = { type = "object", fields = {
      name = { type = "string", required = true, doc = "a DNS name" },
      nodeSelector = { type = "selector", required = true, doc = "the nodes of the level" },
      keepThreshold = { type = "number", min = 0, max = 100,
                        doc = "taken as it is; nothing reads it" },
      rejectThreshold = { type = "number", min = 0, max = 100,
                          doc = "taken as it is; nothing reads it" },
    } }, doc = "levels of nodes from the most expensive to the cheapest" },
    mode = { type = "enum", values = { "BestEffort", "DrainNode" }, default = "BestEffort",
             doc = "pod by pod, or only nodes that can be emptied whole" },
    autoCordon = { type = "boolean", default = false,
                   doc = "with DrainNode: cordon the node before its pods leave" },
  },

  valid = function(params)
    local names = {}
    if #params.evictionOrder < 2 then
      return { { field = "evictionOrder", message = "two levels or more are needed" } }
    end
    for i, level in ipairs(params.evictionOrder) do
      if #level.name > 63 or not level.name:match("^[a-z0-9]([a-z0-9-]*)$")
        or level.name:sub(-1) == "-"
      then
        return { { field = ("evictionOrder[%d].name"):format(i - 1),
                   message = "a DNS name is wanted" } }
      elseif names[level.name] then
        return { { field = ("evictionOrder[%d].name"):format(i - 1),
                   message = "it is there twice" } }
      end
      names[level.name] = true
    end
  end,

  ---@param ctx neap.Ctx
  ---@param round neap.Round
  run = function(ctx, round)
    local params = ctx.params
    if params.paused then
      return
    end
    local selectors = {}
    for i, entry in ipairs(params.podSelectors or {}) do
      selectors[i] = entry.selector
    end
    local levels = levels_of(params, round)

    local function evict(pod, name)
      local why = ("a node of a level below %s has room for it"):format(name)
      if params.dryRun then
        ctx.log(("%s/%s would leave: %s"):format(pod.namespace, pod.name, why))
        return true
      end
      return round:evict(pod, why)
    end

    local function pods_of(node)
      return node:pods({ evictable = true, namespaces = params.evictableNamespaces,
                         any_of = selectors,
                         order = { "requests.cpu", "requests.memory", "name" } })
    end

    --- Pod by pod; five that fit nowhere in a row end the node.
    local function move_some(node, targets, name)
      local set, misses = round:set(targets), 0
      for _, pod in ipairs(pods_of(node)) do
        if params.nodeFit and not pod:fits_any(set, "plain") then
          misses = misses + 1
          if misses >= MISSES_MAX then
            return
          end
        else
          misses = 0
          local _, reason = evict(pod, name)
          if reason == "total-limit" or reason == "node-limit" then
            return reason
          end
        end
      end
    end

    --- All or none.
    local function drain(node, targets, placed, name)
      local pods, places, tried = pods_of(node), {}, {}
      for i, one in ipairs(placed) do
        tried[i] = { cpu = one.cpu, memory = one.memory, pods = one.pods }
      end
      for i, pod in ipairs(pods) do
        places[i] = find_place(pod, targets, tried)
        if not places[i] then
          return
        end
        place(pod, places[i], tried)
      end
      if #pods == 0 then
        return
      end
      if params.autoCordon and not params.dryRun then
        round:cordon(node)
      end
      for i, pod in ipairs(pods) do
        local ok, reason = evict(pod, name)
        if not ok then
          if params.autoCordon and not params.dryRun then
            round:uncordon(node)
          end
          return reason
        end
        placed[places[i]] = placed[places[i]] or { cpu = 0, memory = 0, pods = 0 }
        place(pod, places[i], placed)
      end
    end

    for i = 1, #levels - 1 do
      local targets, placed = later(levels, i), {}
      for at = 1, #targets do
        placed[at] = { cpu = 0, memory = 0, pods = 0 }
      end
      local name = params.evictionOrder[i].name
      for _, node in ipairs(#targets > 0 and levels[i] or {}) do
        local reason
        if params.mode == "DrainNode" then
          reason = drain(node, targets, placed, name)
        else
          reason = move_some(node, targets, name)
        end
        if reason == "total-limit" then
          return
        end
      end
    end
  end,

  examples = {
    { name = "what fits leaves",
      params = { evictionOrder = LEVELS },
      cluster = { nodes = { example_node("dear", "high", "8"), example_node("cheap", "low", "2") },
                  pods = { example_pod("small", "1"), example_pod("large", "4") } },
      want = { evict = { "default/small" } } },
    { name = "a node that cannot be emptied stays as it is",
      params = { evictionOrder = LEVELS, mode = "DrainNode" },
      cluster = { nodes = { example_node("dear", "high", "8"), example_node("cheap", "low", "2") },
                  pods = { example_pod("small", "1"), example_pod("large", "4") } },
      want = { evict = {} } },
    { name = "a node that can",
      params = { evictionOrder = LEVELS, mode = "DrainNode", autoCordon = true },
      cluster = { nodes = { example_node("dear", "high", "8"), example_node("cheap", "low", "8") },
                  pods = { example_pod("small", "1"), example_pod("large", "4") } },
      want = { evict = { "default/small", "default/large" } } },
  },
}
