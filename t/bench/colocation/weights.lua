-- SPDX-License-Identifier: Apache-2.0
--
-- A candidate of the colocation sweep: weights alone. Best-effort work has the lowest
-- weight there is, services the highest; nothing is ever taken away.

local LOWEST, HIGHEST = 2, 262144

---@type neap.QosPolicy
return {
  api = 1,
  kind = "qos",
  name = "weights",
  doc = "Lowest weight for best-effort pods, highest for the others, and nothing else.",

  needs = { "supports" },

  tick = function(ctx, node)
    local why = "weights alone"
    return {
      { target = "besteffort", key = "cpu.shares", value = LOWEST, why = why },
      { target = "besteffort.pods", key = "cpu.shares", value = LOWEST, why = why },
      { target = "burstable", key = "cpu.shares", value = HIGHEST, why = why },
    }
  end,

  examples = {
    { name = "always the same", node = {},
      want = { { target = "besteffort", key = "cpu.shares", value = 2 },
               { target = "besteffort.pods", key = "cpu.shares", value = 2 },
               { target = "burstable", key = "cpu.shares", value = 262144 } } },
  },
}
