-- SPDX-License-Identifier: Apache-2.0

--- Takes pods off nodes whose resources are requested unevenly, such as all CPU and
--- little memory: what is left there fits no other pod. Of each such node the pod leaves
--- whose going evens it out most.

--- The spread of what is requested, over the resources that the node has: a standard
--- deviation. without: a pod that is thought away.
local function imbalance(node, resources, without)
  local shares, sum = {}, 0
  for _, name in ipairs(resources) do
    local allocatable = node:allocatable(name) or 0
    if allocatable > 0 then
      local requested = node:requested(name) - (without and without:requests(name) or 0)
      shares[#shares + 1] = requested / allocatable
      sum = sum + shares[#shares]
    end
  end
  if #shares == 0 then
    return 0
  end
  local mean, square = sum / #shares, 0
  for _, value in ipairs(shares) do
    square = square + (value - mean) ^ 2
  end
  return (square / #shares) ^ 0.5
end

local function example_pod(name, cpu, memory)
  return {
    metadata = { name = name, namespace = "default",
                 ownerReferences = { { kind = "ReplicaSet", name = "r", uid = "r" } } },
    spec = { nodeName = "n1", containers = { { name = "c", image = "web:1",
             resources = { requests = { cpu = cpu, memory = memory } } } } },
    status = { phase = "Running" },
  }
end

local function example_node(name)
  return { metadata = { name = name },
           status = { allocatable = { cpu = "10", memory = "10Gi", pods = "10" } } }
end

---@type neap.DeschedulePolicy
return {
  api = 1,
  kind = "deschedule",
  name = "fragmentation-aware",
  plugin = "FragmentationAware",
  point = "balance",
  doc = "Takes pods off nodes whose resources are requested unevenly.",

  params = {
    paused = { type = "boolean", default = false, doc = "do nothing" },
    dryRun = { type = "boolean", default = false, doc = "log who would leave" },
    nodeSelector = { type = "selector", doc = "the nodes that are looked at" },
    evictableNamespaces = { type = "object", at_most_one = { "include", "exclude" }, fields = {
      include = { type = "list", of = "string", max_items = 1024 },
      exclude = { type = "list", of = "string", max_items = 1024 },
    }, doc = "the namespaces whose pods may leave, or may not" },
    podSelectors = { type = "list", of = { type = "object", fields = {
      name = { type = "string" },
      selector = { type = "selector", required = true },
    } }, doc = "pods that one of them selects may leave; none: all" },
    nodeFit = { type = "boolean", default = true,
                doc = "only pods that fit another of the nodes leave" },
    resources = { type = "list", of = "string", default = { "cpu", "memory" },
                  doc = "the resources that should be even" },
    imbalanceThreshold = { type = "number", min = 0, default = 0.15,
                           doc = "a node up to this standard deviation is even enough" },
    minImprovementThreshold = { type = "number", min = 0, default = 0.02,
                                doc = "a pod leaves only if the deviation falls by more" },
  },

  valid = function(params)
    local seen = {}
    if #params.resources == 0 then
      return { { field = "resources", message = "it needs a resource" } }
    end
    for _, name in ipairs(params.resources) do
      if seen[name] then
        return { { field = "resources", message = ("%s is there twice"):format(name) } }
      end
      seen[name] = true
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
    local nodes = round:nodes(params.nodeSelector)
    local set = round:set(nodes)
    for _, node in ipairs(nodes) do
      local before = imbalance(node, params.resources)
      local best, best_after
      local pods = before > params.imbalanceThreshold and node:pods({ evictable = true,
        namespaces = params.evictableNamespaces, any_of = selectors }) or {}
      for _, pod in ipairs(pods) do
        local after = imbalance(node, params.resources, pod)
        if (not best or after < best_after)
          and before - after > params.minImprovementThreshold
          and (not params.nodeFit or pod:fits_any(set, "plain"))
        then
          best, best_after = pod, after
        end
      end
      if best then
        local why = ("fragmentation reduction: stdBefore=%.4f stdAfter=%.4f gain=%.4f"):format(
          before, best_after, before - best_after)
        if params.dryRun then
          ctx.log(("%s/%s would leave: %s"):format(best.namespace, best.name, why))
        else
          local _, reason = round:evict(best, why)
          if reason == "total-limit" then
            return
          end
        end
      end
    end
  end,

  examples = {
    { name = "much CPU, little memory",
      cluster = { nodes = { example_node("n1"), example_node("n2") },
                  pods = { example_pod("cpu", "6", "1Gi"), example_pod("even", "1", "1Gi") } },
      want = { evict = { "default/cpu" } } },
    { name = "even enough",
      params = { imbalanceThreshold = 0.5 },
      cluster = { nodes = { example_node("n1"), example_node("n2") },
                  pods = { example_pod("cpu", "6", "1Gi"), example_pod("even", "1", "1Gi") } },
      want = { evict = {} } },
  },
}
