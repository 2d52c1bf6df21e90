-- SPDX-License-Identifier: Apache-2.0

--- Pods go where others are already, so that whole nodes stay free; a node that is nearly
--- full is less good.
---@type neap.ScorePolicy
return {
  api = 1,
  kind = "score",
  name = "binpack",
  doc = "Pods go where others are already, so that whole nodes stay free.",

  params = {
    weight = { type = "integer", min = 0, max = 100, default = 5,
               doc = "of this score beside the others" },
    resources = { type = "map", of = { type = "number", min = 0, max = 100 },
                  default = { cpu = 1, memory = 1 },
                  doc = "how much each counts; also extended ones, such as nvidia.com/gpu" },
    full_percent = { type = "percent", min = 1, default = 90,
                     doc = "most points here; fuller nodes have fewer, down to 50" },
  },

  ---@param ctx neap.Ctx
  ---@return neap.Terms
  plan = function(ctx)
    local full = ctx.params.full_percent / 100
    local curve = { { 0, 0 }, { full, 100 } }
    if full < 1 then
      curve[3] = { 1, 50 }
    end
    local terms = { weight = ctx.params.weight }
    for name, weight in pairs(ctx.params.resources) do
      if weight > 0 then
        terms[#terms + 1] = { column = "requested_share." .. name, weight = weight,
                              curve = curve }
      end
    end
    return terms
  end,

  examples = {
    { name = "the fuller node has more points",
      pod = { requests = { cpu = 900, memory = 900 } },
      nodes = {
        empty = { allocatable = { cpu = 10000, memory = 10000 } },
        half = { allocatable = { cpu = 10000, memory = 10000 },
                 requested = { cpu = 4500, memory = 3600 } },
      },
      want = { empty = 10, half = 55 } },
    { name = "nearly full is less good",
      nodes = {
        a = { allocatable = { cpu = 1000, memory = 1000 },
              requested = { cpu = 900, memory = 900 } },
        b = { allocatable = { cpu = 1000, memory = 1000 },
              requested = { cpu = 1000, memory = 1000 } },
      },
      want = { a = 100, b = 50 } },
    { name = "devices alone: nodes without them get nothing",
      params = { resources = { ["nvidia.com/gpu"] = 1 }, full_percent = 100 },
      pod = { requests = { ["nvidia.com/gpu"] = 1 } },
      nodes = {
        plain = { allocatable = { cpu = 1000 } },
        gpus = { allocatable = { ["nvidia.com/gpu"] = 4 },
                 requested = { ["nvidia.com/gpu"] = 2 } },
      },
      want = { plain = 0, gpus = 75 } },
  },
}
