-- SPDX-License-Identifier: Apache-2.0
--- Pods go where most CPU is left.
---@type neap.ScorePolicy
return {
  api = 1,
  kind = "score",
  name = "NAME",
  doc = "Pods go where most CPU is left.",

  params = {
    weight = { type = "integer", min = 0, max = 100, default = 1,
               doc = "of this score beside the others" },
  },

  plan = function(ctx)
    return { weight = ctx.params.weight, { column = "free_share.cpu", weight = 1 } }
  end,

  examples = {
    { name = "the emptier node has more points", pod = { requests = { cpu = 1000 } },
      nodes = { empty = { allocatable = { cpu = 4000 } },
                half = { allocatable = { cpu = 4000 }, requested = { cpu = 2000 } } },
      want = { empty = 75, half = 25 } },
  },
}
