-- SPDX-License-Identifier: Apache-2.0
--- Batch pods that run for long make room for others: the oldest first.
---@type neap.DeschedulePolicy
return {
  api = 1,
  kind = "deschedule",
  name = "NAME",
  point = "deschedule",
  doc = "Evicts batch pods that are old.",

  params = {
    days = { type = "integer", min = 1, default = 7, doc = "older batch pods leave" },
  },

  run = function(ctx, round)
    local batch = { class = "batch", evictable = true, order = { "created" } }
    for _, pod in ipairs(round:pods(batch)) do
      if pod.age_s > ctx.params.days * 86400 then
        round:evict(pod, "it is old")
      end
    end
  end,

  examples = {
    { name = "one of two is old", now = "2026-01-31T00:00:00Z",
      cluster = {
        nodes = { { metadata = { name = "n1" } } },
        pods = {
          { metadata = { name = "old", namespace = "default",
                         creationTimestamp = "2026-01-01T00:00:00Z",
                         labels = { ["koordinator.sh/qosClass"] = "BE" },
                         ownerReferences = { { kind = "Job", name = "j", uid = "j" } } },
            spec = { nodeName = "n1" }, status = { phase = "Running" } },
          { metadata = { name = "young", namespace = "default",
                         creationTimestamp = "2026-01-30T00:00:00Z",
                         labels = { ["koordinator.sh/qosClass"] = "BE" },
                         ownerReferences = { { kind = "Job", name = "j", uid = "j" } } },
            spec = { nodeName = "n1" }, status = { phase = "Running" } },
        },
      },
      want = { evict = { "default/old" } } },
  },
}
