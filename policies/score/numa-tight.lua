-- SPDX-License-Identifier: Apache-2.0

--- Pods go where they fit tightest into one NUMA node, so that whole NUMA nodes and cores
--- stay free for the large ones. A pod that gets CPUs of its own is looked at by cores,
--- others by amounts.
---@type neap.ScorePolicy
return {
  api = 1,
  kind = "score",
  name = "numa-tight",
  doc = "Pods go where they fit tightest into one NUMA node.",

  params = {
    weight = { type = "integer", min = 0, max = 100, default = 5,
               doc = "of this score beside the others" },
    cpu = { type = "number", min = 0, max = 100, default = 1, doc = "how much CPU counts" },
    memory = { type = "number", min = 0, max = 100, default = 1,
               doc = "how much memory counts" },
    wide_points = { type = "integer", min = 0, max = 100, default = 0,
                    doc = "of a node where it fits into no NUMA node alone" },
    own_only = { type = "boolean", default = false,
                 doc = "only pods that get CPUs of their own (LSE, LSR)" },
  },

  needs = { "pod.labels.koordinator.sh/qosClass?" },

  ---@param ctx neap.Ctx
  ---@param pod neap.PlacePod
  ---@return neap.Terms|userdata
  plan = function(ctx, pod)
    local params = ctx.params
    local qos = pod.labels["koordinator.sh/qosClass"]
    local is_own = qos == "LSE" or qos == "LSR"
    if params.own_only and not is_own then
      return ctx.hold
    end
    local terms = { weight = params.weight }
    local columns = { cpu = is_own and "core_share" or "numa_share.cpu",
                      memory = "numa_share.memory" }
    for name, column in pairs(columns) do
      if params[name] > 0 then
        terms[#terms + 1] = { column = column, weight = params[name],
                              missing = params.wide_points }
      end
    end
    return terms
  end,

  examples = {
    { name = "the fuller NUMA node that still has room", params = { memory = 0 },
      pod = { requests = { cpu = 2000 } },
      nodes = {
        empty = { allocatable = { cpu = 16000 }, numa = { { cpus = 8 }, { cpus = 8 } } },
        half = { allocatable = { cpu = 16000 },
                 numa = { { cpus = 8, bound = 4 }, { cpus = 8 } } },
        tight = { allocatable = { cpu = 16000 },
                  numa = { { cpus = 8 }, { cpus = 8, bound = 6 } } },
        wide = { allocatable = { cpu = 4000 },
                 numa = { { cpus = 2, bound = 1 }, { cpus = 2, bound = 1 } } },
        untold = { allocatable = { cpu = 16000 } },
      },
      want = { empty = 25, half = 75, tight = 100, wide = 0, untold = 0 } },
    { name = "by whole cores for a pod with CPUs of its own", params = { memory = 0 },
      pod = { requests = { cpu = 2000 }, labels = { ["koordinator.sh/qosClass"] = "LSR" } },
      nodes = {
        -- 5 CPUs are free, of which 4 in whole cores: 2 remain.
        split = { allocatable = { cpu = 8000 }, numa = { { cpus = 8, bound = 3 } } },
        -- As many, but none would remain: 2 free cores, and one of them is taken.
        full = { allocatable = { cpu = 8000 }, numa = { { cpus = 8, bound = 5 } } },
        -- A half core is no place for it.
        halves = { allocatable = { cpu = 8000 }, numa = { { cpus = 8, bound = 7 } } },
      },
      want = { split = 75, full = 100, halves = 0 } },
    { name = "memory of the same kind", params = { cpu = 0 },
      pod = { requests = { memory = 400 } },
      nodes = {
        free = { allocatable = { memory = 2000 },
                 numa = { { cpus = 4, memory = 1000 }, { cpus = 4, memory = 1000 } } },
        used = { allocatable = { memory = 2000 },
                 numa = { { cpus = 4, memory = 1000, used_memory = 500 },
                          { cpus = 4, memory = 1000 } } },
      },
      want = { free = 40, used = 90 } },
    { name = "other pods are passed over", params = { own_only = true },
      pod = { labels = { ["koordinator.sh/qosClass"] = "LS" } }, want = "hold" },
  },
}
