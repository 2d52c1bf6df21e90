-- SPDX-License-Identifier: Apache-2.0
--
-- A candidate of the colocation sweep: idle priority, and when the kernel reports that a
-- service stalls, best-effort work is at once put on half of its CPUs; they come back one
-- by one. By pressure alone: nothing is taken as long as nobody waits, and the first wait
-- is not avoided.

--- One half of N, at least one.
local function half(n)
  return math.max(n // 2, 1)
end

---@type neap.QosPolicy
return {
  api = 1,
  kind = "qos",
  name = "idle-stall",
  doc = "Idle priority, and half of the CPUs for best-effort pods after a stall.",

  params = {
    stall_share = { type = "number", min = 0, max = 1, default = 0.05,
      doc = "share of time that a service may wait on average of 10 s before CPUs come back" },
    hold = { type = "duration", default = "10s",
      doc = "time after a stall until one CPU comes back, and between two" },
  },

  needs = { "mono_usec", "topology", "supports", "reserved_cpus", "system_cpus",
            "critical_pressure?", "trigger?" },

  -- A twentieth of the shortest window that there is.
  triggers = { { name = "stall", pressure = "cpu", of = "critical", stall_usec = 25000,
                 window_usec = 500000 } },

  tick = function(ctx, node)
    local params, memo = ctx.params, ctx.memo
    local pool = node.topology:cpus() - node.reserved_cpus - node.system_cpus
    local why = "best-effort pods run in what is left"
    if node.trigger then
      memo.cpus = half(memo.cpus or #pool)
      memo.since_usec = node.mono_usec
    elseif memo.cpus and (node.critical_pressure or 0) > params.stall_share then
      memo.since_usec = node.mono_usec
    elseif memo.cpus and node.mono_usec - memo.since_usec >= params.hold * 1000000 then
      memo.cpus, memo.since_usec = memo.cpus + 1, node.mono_usec
    end
    if memo.cpus and memo.cpus >= #pool then
      memo.cpus, memo.since_usec = nil, nil
    end

    local writes = { { target = "besteffort", key = "cpu.shares", value = 2, why = why } }
    if node.supports["cpu.idle"] then
      writes[2] = { target = "besteffort.pods", key = "cpu.idle", value = 1, why = why }
    end
    if memo.cpus and node.supports["cpuset.cpus"] then
      local set = node.topology:pick_set(pool, memo.cpus)
      for _, target in ipairs({ "besteffort", "besteffort.pods", "besteffort.containers" }) do
        writes[#writes + 1] = { target = target, key = "cpuset.cpus", value = set,
                                why = "a service stalled" }
      end
    end
    return writes
  end,

  examples = {
    { name = "a stall halves, and the CPU comes back after a while",
      node = { topology = { cores = 2 }, supports = { "cpuset.cpus" } },
      steps = {
        { want = { { target = "besteffort", key = "cpu.shares", value = 2 } } },
        { node = { trigger = "stall" }, after_s = 1,
          want = { { target = "besteffort", key = "cpu.shares", value = 2 },
                   { target = "besteffort", key = "cpuset.cpus", value = "0" },
                   { target = "besteffort.pods", key = "cpuset.cpus", value = "0" },
                   { target = "besteffort.containers", key = "cpuset.cpus", value = "0" } } },
        { after_s = 9,
          want = { { target = "besteffort", key = "cpu.shares", value = 2 },
                   { target = "besteffort", key = "cpuset.cpus", value = "0" },
                   { target = "besteffort.pods", key = "cpuset.cpus", value = "0" },
                   { target = "besteffort.containers", key = "cpuset.cpus", value = "0" } } },
        { after_s = 1, want = { { target = "besteffort", key = "cpu.shares", value = 2 } } },
      } },
  },
}
