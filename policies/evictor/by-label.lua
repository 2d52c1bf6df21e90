-- SPDX-License-Identifier: Apache-2.0

--- How a pod leaves its node: by an eviction, which disruption budgets may refuse. Pods
--- with the label of the parameter "label" are left to a controller of their own: it is
--- told by an annotation, and removes them. When the migration fails that is taken back.

---@type neap.EvictorPolicy
return {
  api = 1,
  kind = "evictor",
  name = "by-label",
  doc = "Pods with a label are marked for a controller of their own; all others are evicted.",

  params = {
    label = { type = "string", default = "example.com/moves-itself",
              doc = "Pods that have it, with any value, are marked." },
    annotation = { type = "string", default = "example.com/please-move",
                   doc = "What is set on them; its value is the reason." },
  },

  leave = function(ctx, pod, job)
    local labels = pod.metadata.labels or {}
    if not labels[ctx.params.label] then
      return "eviction"
    end
    local notes = job.metadata.annotations or {}
    local key = ctx.params.annotation
    return {
      patch = { metadata = { annotations = {
        [key] = notes["koordinator.sh/evict-reason"] or "NotSet" } } },
      take_back = { metadata = { annotations = { [key] = false } } },
    }
  end,

  examples = {
    { name = "evicted", pod = { metadata = { name = "web-0", namespace = "shop" } },
      job = { metadata = { name = "a" } }, want = "eviction" },
    { name = "marked",
      pod = { metadata = { name = "db-0", namespace = "shop",
                           labels = { ["example.com/moves-itself"] = "yes" } } },
      job = { metadata = { name = "a",
                           annotations = { ["koordinator.sh/evict-reason"] = "full" } } },
      want = {
        patch = { metadata = { annotations = { ["example.com/please-move"] = "full" } } },
        take_back = { metadata = { annotations = { ["example.com/please-move"] = false } } },
      } },
  },
}
