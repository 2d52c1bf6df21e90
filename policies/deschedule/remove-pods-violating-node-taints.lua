-- SPDX-License-Identifier: Apache-2.0

--- Evicts pods that do not tolerate a taint that their node has got since they came.
--- Taints of effect NoExecute are not its matter: pods that do not tolerate them leave
--- anyway.

--- Whether the list has the taint, as KEY or as KEY=VALUE.
local function is_listed(list, taint)
  local pair = taint.key .. "=" .. taint.value
  for _, entry in ipairs(list) do
    if entry == taint.key or taint.value ~= "" and entry == pair then
      return true
    end
  end
  return false
end

local function is_given(list)
  return list ~= nil and #list > 0
end

local function is_considered(params, taint)
  if taint.effect ~= "NoSchedule"
    and not (taint.effect == "PreferNoSchedule" and params.includePreferNoSchedule)
  then
    return false
  end
  if is_given(params.excludedTaints) and is_listed(params.excludedTaints, taint) then
    return false
  end
  return not is_given(params.includedTaints) or is_listed(params.includedTaints, taint)
end

local function example_pod(name, tolerations)
  return {
    metadata = { name = name, namespace = "default",
                 ownerReferences = { { kind = "ReplicaSet", name = "r", uid = "r" } } },
    spec = { nodeName = "n1", tolerations = tolerations }, status = { phase = "Running" },
  }
end

---@type neap.DeschedulePolicy
return {
  api = 1,
  kind = "deschedule",
  name = "remove-pods-violating-node-taints",
  plugin = "RemovePodsViolatingNodeTaints",
  point = "deschedule",
  doc = "Evicts pods that do not tolerate the taints of their node.",

  params = {
    namespaces = { type = "object", at_most_one = { "include", "exclude" }, fields = {
      include = { type = "list", of = "string", max_items = 1024 },
      exclude = { type = "list", of = "string", max_items = 1024 },
    }, doc = "the namespaces whose pods may leave, or may not" },
    labelSelector = { type = "selector", doc = "the pods that are looked at" },
    includePreferNoSchedule = { type = "boolean", default = false,
                                doc = "taints of effect PreferNoSchedule count too" },
    excludedTaints = { type = "list", of = "string",
                       doc = "taints that do not count, as KEY or KEY=VALUE" },
    includedTaints = { type = "list", of = "string",
                       doc = "the only taints that count; an empty list is as none" },
  },

  valid = function(params)
    if is_given(params.includedTaints) and is_given(params.excludedTaints) then
      return { { field = "includedTaints", message = "not together with excludedTaints" } }
    end
  end,

  ---@param ctx neap.Ctx
  ---@param round neap.Round
  run = function(ctx, round)
    local params = ctx.params
    if params.includedTaints and #params.includedTaints == 0 then
      ctx.log("includedTaints is empty: all taints count")
    end
    for _, node in ipairs(round:nodes()) do
      local taints = {}
      for _, taint in ipairs(node.taints) do
        if is_considered(params, taint) then
          taints[#taints + 1] = taint
        end
      end
      local pods = #taints > 0 and node:pods({ evictable = true,
        namespaces = params.namespaces, labels = params.labelSelector }) or {}
      for _, pod in ipairs(pods) do
        local reason
        for _, taint in ipairs(taints) do
          if not pod:tolerates_taint(taint.key, taint.value, taint.effect) then
            _, reason = round:evict(pod, ("it does not tolerate taint %s"):format(taint.key))
            break
          end
        end
        if reason == "total-limit" then
          return
        elseif reason == "node-limit" then
          break
        end
      end
    end
  end,

  examples = {
    { name = "one tolerates it",
      cluster = {
        nodes = { { metadata = { name = "n1" },
                    spec = { taints = { { key = "gpu", value = "a", effect = "NoSchedule" } } } } },
        pods = { example_pod("stays", { { key = "gpu", operator = "Exists" } }),
                 example_pod("leaves", {}) },
      },
      want = { evict = { "default/leaves" } } },
    { name = "a taint that is excluded",
      params = { excludedTaints = { "gpu=a" } },
      cluster = {
        nodes = { { metadata = { name = "n1" },
                    spec = { taints = { { key = "gpu", value = "a", effect = "NoSchedule" } } } } },
        pods = { example_pod("leaves", {}) },
      },
      want = { evict = {} } },
  },
}
