-- SPDX-License-Identifier: Apache-2.0

--- Evicts pods whose containers have restarted too often: another node may suit them
--- better. On each node the one with the most restarts leaves first.

local function has_state(params, pod)
  for _, state in ipairs(params.states) do
    if pod.phase == state then
      return true
    end
    for _, container in ipairs(pod.containers) do
      if container.waiting == state and (container.part == "main"
          or container.part == "init" and params.includingInitContainers)
      then
        return true
      end
    end
  end
  return false
end

local function restarted(name, count)
  return {
    metadata = { name = name, namespace = "default",
                 ownerReferences = { { kind = "ReplicaSet", name = "r", uid = "r" } } },
    spec = { nodeName = "n1", containers = { { name = "c", image = "web:1" } } },
    status = { phase = "Running", containerStatuses = { { name = "c", restartCount = count } } },
  }
end

---@type neap.DeschedulePolicy
return {
  api = 1,
  kind = "deschedule",
  name = "remove-pods-having-too-many-restarts",
  plugin = "RemovePodsHavingTooManyRestarts",
  point = "deschedule",
  doc = "Evicts pods that restart again and again.",

  params = {
    namespaces = { type = "object", at_most_one = { "include", "exclude" }, fields = {
      include = { type = "list", of = "string", max_items = 1024 },
      exclude = { type = "list", of = "string", max_items = 1024 },
    }, doc = "the namespaces whose pods may leave, or may not" },
    labelSelector = { type = "selector", doc = "the pods that are looked at" },
    podRestartThreshold = { type = "integer", min = 1, max = 2147483647, required = true,
                            doc = "restarts from which on a pod leaves" },
    includingInitContainers = { type = "boolean", default = false,
                                doc = "count the restarts of init containers too" },
    states = { type = "list", of = { type = "enum", values = { "Running", "CrashLoopBackOff" } },
               doc = "only pods in one of these states" },
  },

  ---@param ctx neap.Ctx
  ---@param round neap.Round
  run = function(ctx, round)
    local params = ctx.params
    for _, node in ipairs(round:nodes()) do
      local pods, counts = {}, {}
      for _, pod in ipairs(node:pods({ phases = "all", evictable = true,
          namespaces = params.namespaces, labels = params.labelSelector })) do
        local count = pod:restarts(params.includingInitContainers)
        if count >= params.podRestartThreshold
          and (not params.states or #params.states == 0 or has_state(params, pod))
        then
          pods[#pods + 1], counts[#counts + 1] = pod, count
        end
      end
      for _, pod in ipairs(round:sort(pods, { "-score" }, counts)) do
        local _, reason = round:evict(pod, ("its containers restarted %d times"):format(
          pod:restarts(params.includingInitContainers)))
        if reason == "total-limit" then
          return
        elseif reason == "node-limit" then
          break
        end
      end
    end
  end,

  examples = {
    { name = "the threshold counts",
      params = { podRestartThreshold = 100 },
      cluster = { nodes = { { metadata = { name = "n1" } } },
                  pods = { restarted("a", 99), restarted("b", 100), restarted("c", 200) } },
      want = { evict = { "default/b", "default/c" } } },
    { name = "the most restarts first",
      params = { podRestartThreshold = 100 }, limits = { node = 1 },
      cluster = { nodes = { { metadata = { name = "n1" } } },
                  pods = { restarted("b", 100), restarted("c", 200) } },
      want = { evict = { "default/c" } } },
  },
}
