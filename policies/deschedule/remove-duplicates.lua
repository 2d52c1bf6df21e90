-- SPDX-License-Identifier: Apache-2.0

--- Spreads pods of one owner: where a node has more of them than the nodes have on
--- average, those above it leave. Pods with the same owners and the same images are
--- alike.

local function has_excluded_owner(params, pod)
  for _, kind in ipairs(params.excludeOwnerKinds or {}) do
    if pod:has_owner(kind) then
      return true
    end
  end
  return false
end

--- The duplicates of each node, in the order of the list, which goes node by node.
local function by_node(pods)
  local lists, last = {}, nil
  for _, pod in ipairs(pods) do
    if pod.node ~= last then
      last = pod.node
      lists[#lists + 1] = {}
    end
    local list = lists[#lists]
    list[#list + 1] = pod
  end
  return lists
end

local function example_pod(name, node)
  return {
    metadata = { name = name, namespace = "default",
                 ownerReferences = { { kind = "ReplicaSet", name = "r", uid = "r" } } },
    spec = { nodeName = node, containers = { { name = "c", image = "web:1" } } },
    status = { phase = "Running" },
  }
end

---@type neap.DeschedulePolicy
return {
  api = 1,
  kind = "deschedule",
  name = "remove-duplicates",
  plugin = "RemoveDuplicates",
  point = "balance",
  doc = "Evicts pods of one owner that crowd on a node.",

  params = {
    namespaces = { type = "object", at_most_one = { "include", "exclude" }, fields = {
      include = { type = "list", of = "string", max_items = 1024 },
      exclude = { type = "list", of = "string", max_items = 1024 },
    }, doc = "the namespaces whose pods may leave, or may not" },
    excludeOwnerKinds = { type = "list", of = "string",
                          doc = "kinds of owners whose pods stay" },
  },

  ---@param ctx neap.Ctx
  ---@param round neap.Round
  run = function(ctx, round)
    local params = ctx.params
    local pods = {}
    for _, pod in ipairs(round:pods({ evictable = true, namespaces = params.namespaces })) do
      if not has_excluded_owner(params, pod) then
        pods[#pods + 1] = pod
      end
    end
    for _, group in ipairs(round:duplicates(pods)) do
      local upper = group.feasible > 1 and math.ceil(group.counted / group.feasible)
      for _, list in ipairs(upper and by_node(group.pods) or {}) do
        -- One more of them is on the node: the first is no duplicate.
        for i = #list + 1 > upper and upper or #list + 1, #list do
          local _, reason = round:evict(list[i], ("%d of %s %s are on its node"):format(
            #list + 1, group.kind, group.name))
          if reason == "total-limit" then
            return
          elseif reason == "node-limit" then
            break
          end
        end
      end
    end
  end,

  examples = {
    { name = "three of one ReplicaSet on one of two nodes",
      cluster = {
        nodes = { { metadata = { name = "n1" } }, { metadata = { name = "n2" } } },
        pods = { example_pod("p1", "n1"), example_pod("p2", "n1"), example_pod("p3", "n1") },
      },
      want = { count = 1 } },
    { name = "nowhere else to go",
      cluster = {
        nodes = { { metadata = { name = "n1" } },
                  { metadata = { name = "n2" },
                    spec = { taints = { { key = "gpu", effect = "NoSchedule" } } } } },
        pods = { example_pod("p1", "n1"), example_pod("p2", "n1"), example_pod("p3", "n1") },
      },
      want = { count = 0 } },
  },
}
