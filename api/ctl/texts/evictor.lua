-- SPDX-License-Identifier: Apache-2.0
--- Pods with a label are left to a controller of their own; all others are evicted.
---@type neap.EvictorPolicy
return {
  api = 1,
  kind = "evictor",
  name = "NAME",
  doc = "Pods with a label are left to a controller of their own; all others are evicted.",

  leave = function(_, pod)
    local labels = pod.metadata.labels or {}
    if not labels["example.com/moves-itself"] then
      return "eviction"
    end
    return {
      patch = { metadata = { annotations = { ["example.com/please-move"] = "now" } } },
      take_back = { metadata = { annotations = { ["example.com/please-move"] = false } } },
    }
  end,

  examples = {
    { name = "evicted", pod = { metadata = { name = "web-0" } }, want = "eviction" },
    { name = "marked",
      pod = { metadata = { name = "db-0", labels = { ["example.com/moves-itself"] = "yes" } } },
      want = {
        patch = { metadata = { annotations = { ["example.com/please-move"] = "now" } } },
        take_back = { metadata = { annotations = { ["example.com/please-move"] = false } } },
      } },
  },
}
