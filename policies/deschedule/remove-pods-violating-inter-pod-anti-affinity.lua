-- SPDX-License-Identifier: Apache-2.0

--- Evicts pods that came, or were allowed, where their own required anti-affinity forbids
--- it. The least important leave first, until those that stay get along.

local function example_pod(name, app, priority, rejects)
  return {
    metadata = { name = name, namespace = "default", labels = { app = app },
                 ownerReferences = { { kind = "ReplicaSet", name = "r", uid = "r" } } },
    spec = { nodeName = "n1", priority = priority,
             affinity = { podAntiAffinity = { requiredDuringSchedulingIgnoredDuringExecution = {
               { topologyKey = "kubernetes.io/hostname",
                 labelSelector = { matchLabels = { app = rejects } } } } } } },
    status = { phase = "Running" },
  }
end

---@type neap.DeschedulePolicy
return {
  api = 1,
  kind = "deschedule",
  name = "remove-pods-violating-inter-pod-anti-affinity",
  plugin = "RemovePodsViolatingInterPodAntiAffinity",
  point = "deschedule",
  doc = "Evicts pods that are beside others that their anti-affinity rejects.",

  params = {
    namespaces = { type = "object", at_most_one = { "include", "exclude" }, fields = {
      include = { type = "list", of = "string", max_items = 1024 },
      exclude = { type = "list", of = "string", max_items = 1024 },
    }, doc = "the namespaces whose pods are looked at, on both sides" },
    labelSelector = { type = "selector", doc = "the pods that are looked at, on both sides" },
  },

  ---@param ctx neap.Ctx
  ---@param round neap.Round
  run = function(ctx, round)
    local params = ctx.params
    local query = { namespaces = params.namespaces, labels = params.labelSelector,
                    order = { "priority", "kube_qos", "prefers_stay" } }
    local all = round:set(round:pods({ namespaces = params.namespaces,
                                       labels = params.labelSelector }))
    for _, node in ipairs(round:nodes()) do
      for _, pod in ipairs(node:pods(query)) do
        if pod.has_anti_affinity and not pod.leaves and round:is_repelled(pod, all)
          and round:may_leave(pod)
        then
          local _, reason = round:evict(pod, "it is beside a pod that its anti-affinity rejects")
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
    { name = "the less important of two leaves",
      cluster = {
        nodes = { { metadata = { name = "n1", labels = { ["kubernetes.io/hostname"] = "n1" } } } },
        pods = { example_pod("a", "a", 10, "b"), example_pod("b", "b", 5, "a") },
      },
      want = { evict = { "default/b" } } },
  },
}
