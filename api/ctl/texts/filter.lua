-- SPDX-License-Identifier: Apache-2.0
--- The last of each node's CPU is for important pods.
---@type neap.FilterPolicy
return {
  api = 1,
  kind = "filter",
  name = "NAME",
  doc = "The last of each node's CPU is for important pods.",

  params = {
    percent = { type = "percent", default = 10, doc = "CPU that stays free" },
  },
  needs = { "pod.priority", "node.free_share.cpu" },

  allow = function(ctx, pod, node)
    return pod.priority >= 1000 or node.free_share.cpu * 100 >= ctx.params.percent,
      ("less than %d%% would be free"):format(ctx.params.percent)
  end,

  examples = {
    { name = "the last tenth", pod = { requests = { cpu = 1000 } },
      nodes = { full = { allocatable = { cpu = 4000 }, requested = { cpu = 2700 } },
                free = { allocatable = { cpu = 4000 } } },
      want = { full = "less than 10% would be free", free = true } },
  },
}
