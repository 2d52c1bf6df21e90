-- SPDX-License-Identifier: Apache-2.0

--- Evicts pods whose node no longer matches their node affinity, or that would be better
--- off on another node by their preferences. A pod that fits nowhere stays.

local REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
local PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

local function is_misplaced(pod, node, nodes)
  return pod.has_node_affinity and not pod:matches(node) and pod:fits_any(nodes, "full", true)
end

local function is_better_elsewhere(pod, node, nodes, list)
  if not pod.has_preferences or not pod:fits_any(nodes, "full", true) then
    return false
  end
  local own = pod:preference(node)
  for _, other in ipairs(list) do
    if pod:preference(other) > own then
      return true
    end
  end
  return false
end

local function preferring(name, node)
  return {
    metadata = { name = name, namespace = "default",
                 ownerReferences = { { kind = "ReplicaSet", name = "r", uid = "r" } } },
    spec = { nodeName = node, affinity = { nodeAffinity = {
      requiredDuringSchedulingIgnoredDuringExecution = { nodeSelectorTerms = { {
        matchExpressions = { { key = "zone", operator = "In", values = { "a" } } } } } } } } },
    status = { phase = "Running" },
  }
end

---@type neap.DeschedulePolicy
return {
  api = 1,
  kind = "deschedule",
  name = "remove-pods-violating-node-affinity",
  plugin = "RemovePodsViolatingNodeAffinity",
  point = "deschedule",
  doc = "Evicts pods whose node does not match their node affinity.",

  params = {
    namespaces = { type = "object", at_most_one = { "include", "exclude" }, fields = {
      include = { type = "list", of = "string", max_items = 1024 },
      exclude = { type = "list", of = "string", max_items = 1024 },
    }, doc = "the namespaces whose pods may leave, or may not" },
    labelSelector = { type = "selector", doc = "the pods that are looked at" },
    nodeAffinityType = { type = "list", of = "string", required = true,
                         doc = "which affinity counts: " .. REQUIRED .. ", " .. PREFERRED },
  },

  valid = function(params)
    if #params.nodeAffinityType == 0 then
      return { { field = "nodeAffinityType", message = "it needs a type" } }
    end
  end,

  ---@param ctx neap.Ctx
  ---@param round neap.Round
  run = function(ctx, round)
    local params = ctx.params
    local list = round:nodes()
    local nodes = round:set(list)
    local checks = {
      [REQUIRED] = { is_misplaced, "its node does not match its affinity" },
      [PREFERRED] = { is_better_elsewhere, "another node matches its affinity better" },
    }

    local function evict_of(node, check)
      for _, pod in ipairs(node:pods({ evictable = true,
          namespaces = params.namespaces, labels = params.labelSelector })) do
        if check[1](pod, node, nodes, list) then
          local _, reason = round:evict(pod, check[2])
          if reason == "total-limit" or reason == "node-limit" then
            return reason
          end
        end
      end
    end

    for _, name in ipairs(params.nodeAffinityType) do
      local check = checks[name]
      if not check then
        ctx.log(("nodeAffinityType %s is not known"):format(name))
      end
      for _, node in ipairs(check and list or {}) do
        if evict_of(node, check) == "total-limit" then
          break
        end
      end
    end
  end,

  examples = {
    { name = "the node lost its label",
      params = { nodeAffinityType = { REQUIRED } },
      cluster = {
        nodes = { { metadata = { name = "n1", labels = { zone = "b" } } },
                  { metadata = { name = "n2", labels = { zone = "a" } },
                    status = { allocatable = { pods = "10" } } } },
        pods = { preferring("wrong", "n1"), preferring("right", "n2") },
      },
      want = { evict = { "default/wrong" } } },
    { name = "it fits nowhere",
      params = { nodeAffinityType = { REQUIRED } },
      cluster = {
        nodes = { { metadata = { name = "n1", labels = { zone = "b" } } } },
        pods = { preferring("wrong", "n1") },
      },
      want = { evict = {} } },
  },
}
