-- SPDX-License-Identifier: Apache-2.0

--- Pods go where one NUMA node has room for all of them, and is filled most by it: whole NUMA nodes
--- stay free for large pods, and none is spread over two. Where NUMA nodes are not told, or none has
--- room, there are few points. It says where a pod is good, not which CPUs it gets.
---@type neap.ScorePolicy
return {
  api = 1,
  kind = "score",
  name = "numa-tight",
  doc = "Pods go where they fill one NUMA node.",

  params = {
    weight = { type = "integer", min = 0, max = 100, default = 5,
               doc = "of this score beside the others" },
    cpu = { type = "number", min = 0, max = 100, default = 1, doc = "how much CPU counts" },
    memory = { type = "number", min = 0, max = 100, default = 1,
               doc = "how much memory counts" },
    empty_points = { type = "integer", min = 0, max = 100, default = 20,
                     doc = "where nearly all of the NUMA node would be left" },
    none_points = { type = "integer", min = 0, max = 100, default = 0,
                    doc = "where no NUMA node has room for all of it, or none is told" },
  },

  needs = { "pod.requests.cpu", "pod.requests.memory" },

  ---@param ctx neap.Ctx
  ---@param pod neap.PlacePod
  ---@return neap.Terms
  plan = function(ctx, pod)
    local params = ctx.params
    local terms = { weight = params.weight }
    for _, name in ipairs({ "cpu", "memory" }) do
      if params[name] > 0 and pod.requests[name] > 0 then
        terms[#terms + 1] = {
          column = "numa_left_share." .. name,
          weight = params[name],
          missing = params.none_points,
          curve = { { 0, 100 }, { 1, params.empty_points } },
        }
      end
    end
    return terms
  end,

  examples = {
    { name = "the NUMA node that has just enough",
      pod = { requests = { cpu = 2000 } },
      nodes = {
        tight = { allocatable = { cpu = 8000 }, pods = 1,
                  numa = { { allocatable = { cpu = 4000 } },
                           { allocatable = { cpu = 4000 }, requested = { cpu = 2000 } } } },
        loose = { allocatable = { cpu = 8000 },
                  numa = { { allocatable = { cpu = 4000 } }, { allocatable = { cpu = 4000 } } } },
        split = { allocatable = { cpu = 8000 }, pods = 1,
                  numa = { { allocatable = { cpu = 4000 }, requested = { cpu = 3000 } },
                           { allocatable = { cpu = 4000 }, requested = { cpu = 3000 } } } },
        untold = { allocatable = { cpu = 8000 } },
      },
      want = { tight = 100, loose = 60, split = 0, untold = 0 } },
    { name = "memory counts as much, where it is asked for",
      params = { none_points = 10 },
      pod = { requests = { cpu = 1000, memory = 3072 } },
      nodes = {
        a = { allocatable = { cpu = 2000, memory = 8192 },
              numa = { { allocatable = { cpu = 1000, memory = 4096 } },
                       { allocatable = { cpu = 1000, memory = 4096 } } } },
        b = { allocatable = { cpu = 2000, memory = 4096 },
              numa = { { allocatable = { cpu = 1000, memory = 2048 } },
                       { allocatable = { cpu = 1000, memory = 2048 } } } },
      },
      want = { a = 90, b = 55 } },
    { name = "a pod that asks for nothing", want = "hold" },
  },
}
