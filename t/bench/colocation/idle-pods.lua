-- SPDX-License-Identifier: Apache-2.0
--
-- A candidate of the colocation sweep: idle priority for the pods of best-effort work,
-- below a class of the lowest weight. What cpu-share does first, without anything that
-- follows.

---@type neap.QosPolicy
return {
  api = 1,
  kind = "qos",
  name = "idle-pods",
  doc = "Best-effort pods run when nothing else wants the CPU, and nothing else is done.",

  needs = { "supports" },

  tick = function(ctx, node)
    local why = "idle priority alone"
    local writes = { { target = "besteffort", key = "cpu.shares", value = 2, why = why } }
    if node.supports["cpu.idle"] then
      writes[2] = { target = "besteffort.pods", key = "cpu.idle", value = 1, why = why }
    end
    return writes
  end,

  examples = {
    { name = "a kernel that has cpu.idle", node = { supports = { "cpu.idle" } },
      want = { { target = "besteffort", key = "cpu.shares", value = 2 },
               { target = "besteffort.pods", key = "cpu.idle", value = 1 } } },
    { name = "one that has not", node = { supports = {} },
      want = { { target = "besteffort", key = "cpu.shares", value = 2 } } },
  },
}
