-- SPDX-License-Identifier: Apache-2.0

--- Pods go where little is really used, by the reports of the nodes. Up to a calm load
--- all nodes are alike, so that pods do not run after small differences; from a busy load
--- on there are none.
---@type neap.ScorePolicy
return {
  api = 1,
  kind = "score",
  name = "load-aware",
  doc = "Pods go where little is really used.",

  params = {
    weight = { type = "integer", min = 0, max = 100, default = 5,
               doc = "of this score beside the others" },
    cpu = { type = "number", min = 0, max = 100, default = 2, doc = "how much CPU counts" },
    memory = { type = "number", min = 0, max = 100, default = 1,
               doc = "how much memory counts" },
    calm_percent = { type = "percent", max = 99, default = 30, doc = "all points up to here" },
    cpu_busy_percent = { type = "percent", min = 1, default = 70,
                         doc = "no points from here on" },
    memory_busy_percent = { type = "percent", min = 1, default = 90,
                            doc = "no points from here on" },
    unknown_points = { type = "integer", min = 0, max = 100, default = 50,
                       doc = "of a node without a fresh report" },
    spared = { type = "list", of = { type = "enum", values = { "prod", "mid", "batch", "free" } },
               default = {}, doc = "classes of pods that it says nothing of" },
  },

  needs = { "pod.class" },

  ---@param ctx neap.Ctx
  ---@param pod neap.PlacePod
  ---@return neap.Terms|userdata
  plan = function(ctx, pod)
    local params = ctx.params
    for _, class in ipairs(params.spared) do
      if class == pod.class then
        return ctx.hold
      end
    end
    local terms = { weight = params.weight }
    for _, name in ipairs({ "cpu", "memory" }) do
      local busy = params[name .. "_busy_percent"]
      if params[name] > 0 then
        terms[#terms + 1] = {
          column = "load_share." .. name,
          weight = params[name],
          missing = params.unknown_points,
          curve = { { math.min(params.calm_percent, busy - 1) / 100, 100 }, { busy / 100, 0 } },
        }
      end
    end
    return terms
  end,

  examples = {
    { name = "from calm to busy", params = { memory = 0 },
      pod = { requests = { cpu = 0, memory = 0 } },
      nodes = {
        calm = { allocatable = { cpu = 100000, memory = 1000000000000 },
                 load_share = { cpu = 0.2 } },
        between = { allocatable = { cpu = 100000, memory = 1000000000000 },
                    load_share = { cpu = 0.4975 } },
        busy = { allocatable = { cpu = 100000, memory = 1000000000000 },
                 load_share = { cpu = 0.8 } },
        silent = { allocatable = { cpu = 100000, memory = 1000000000000 } },
      },
      want = { calm = 100, between = 50, busy = 0, silent = 50 } },
    { name = "pods that are spared", params = { spared = { "batch" } },
      pod = { labels = { ["koordinator.sh/priority-class"] = "koord-batch" } }, want = "hold" },
  },
}
