-- SPDX-License-Identifier: Apache-2.0

--- Evicts failed pods, so that their owners make new ones, or that they no longer lie
--- about.

local function is_in(list, value)
  for _, one in ipairs(list) do
    if one == value then
      return true
    end
  end
  return false
end

local function is_given(list)
  return list ~= nil and #list > 0
end

local function counts(params, container)
  return container.part == "main" or container.part == "init" and params.includingInitContainers
end

local function has_reason(params, pod)
  if is_in(params.reasons, pod.reason) then
    return true
  end
  for _, container in ipairs(pod.containers) do
    if counts(params, container)
      and (is_in(params.reasons, container.waiting) or is_in(params.reasons, container.terminated))
    then
      return true
    end
  end
  return false
end

local function has_exit_code(params, pod)
  for _, container in ipairs(pod.containers) do
    if counts(params, container) and container.exit_code
      and is_in(params.exitCodes, container.exit_code)
    then
      return true
    end
  end
  return false
end

local function has_excluded_owner(params, pod)
  for _, kind in ipairs(params.excludeOwnerKinds or {}) do
    if pod:has_owner(kind) then
      return true
    end
  end
  return false
end

local function failed(name, created)
  return {
    metadata = { name = name, namespace = "default", creationTimestamp = created,
                 ownerReferences = { { kind = "ReplicaSet", name = "r", uid = "r" } } },
    spec = { nodeName = "n1" },
    status = { phase = "Failed", reason = "NodeAffinity" },
  }
end

---@type neap.DeschedulePolicy
return {
  api = 1,
  kind = "deschedule",
  name = "remove-failed-pods",
  plugin = "RemoveFailedPods",
  point = "deschedule",
  doc = "Evicts pods that have failed.",

  params = {
    namespaces = { type = "object", at_most_one = { "include", "exclude" }, fields = {
      include = { type = "list", of = "string", max_items = 1024 },
      exclude = { type = "list", of = "string", max_items = 1024 },
    }, doc = "the namespaces whose pods may leave, or may not" },
    labelSelector = { type = "selector", doc = "the pods that are looked at" },
    excludeOwnerKinds = { type = "list", of = "string",
                          doc = "kinds of owners whose pods stay" },
    minPodLifetimeSeconds = { type = "integer", min = 0, default = 3600,
                              doc = "younger pods stay" },
    reasons = { type = "list", of = "string",
                doc = "reasons of the pod or of a container; any one is enough" },
    exitCodes = { type = "list", of = "integer",
                  doc = "exit codes of containers; any one is enough" },
    includingInitContainers = { type = "boolean", default = false,
                                doc = "look at init containers too" },
  },

  ---@param ctx neap.Ctx
  ---@param round neap.Round
  run = function(ctx, round)
    local params = ctx.params
    for _, node in ipairs(round:nodes()) do
      for _, pod in ipairs(node:pods({ phases = "all", evictable = true,
          namespaces = params.namespaces, labels = params.labelSelector })) do
        if pod.phase == "Failed" and pod.age_s >= params.minPodLifetimeSeconds
          and not has_excluded_owner(params, pod)
          and (not is_given(params.reasons) or has_reason(params, pod))
          and (not is_given(params.exitCodes) or has_exit_code(params, pod))
        then
          local _, reason = round:evict(pod, "it has failed")
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
    { name = "an hour after it began",
      now = "2026-01-01T00:00:00Z",
      cluster = {
        nodes = { { metadata = { name = "n1" } } },
        pods = { failed("old", "2025-12-31T22:00:00Z"), failed("new", "2025-12-31T23:30:00Z") },
      },
      want = { evict = { "default/old" } } },
    { name = "another reason",
      params = { reasons = { "Evicted" } },
      now = "2026-01-01T00:00:00Z",
      cluster = { nodes = { { metadata = { name = "n1" } } },
                  pods = { failed("old", "2025-12-31T22:00:00Z") } },
      want = { evict = {} } },
  },
}
