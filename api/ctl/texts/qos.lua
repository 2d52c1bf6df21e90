-- SPDX-License-Identifier: Apache-2.0
--- Best-effort work gets a share of what critical work leaves free.
---@type neap.QosPolicy
return {
  api = 1,
  kind = "qos",
  name = "NAME",
  doc = "Best-effort work gets a share of what critical work leaves free.",

  params = {
    share = { type = "percent", default = 50, doc = "share of the free CPUs" },
  },
  needs = { "capacity_milli", "critical_used_milli" },

  tick = function(ctx, node)
    local free = node.capacity_milli - node.critical_used_milli
    return { { target = "besteffort", key = "cpu.max_milli",
               value = math.max(free * ctx.params.share // 100, 100),
               why = ("critical work uses %dm"):format(node.critical_used_milli) } }
  end,

  examples = {
    { name = "one of four CPUs is used",
      node = { capacity_milli = 4000, critical_used_milli = 1000 },
      want = { { target = "besteffort", key = "cpu.max_milli", value = 1500 } } },
  },
}
