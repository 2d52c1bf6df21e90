-- SPDX-License-Identifier: Apache-2.0
--
-- A candidate of the colocation sweep: idle priority, and while services use much of the
-- machine best-effort work keeps to a part of the CPUs, so that a service that wakes up
-- finds one without any. Two thresholds and a time keep it from going to and fro. By use
-- alone: it acts before anything waits, and gives CPUs away that nobody would have
-- missed.

---@type neap.QosPolicy
return {
  api = 1,
  kind = "qos",
  name = "idle-cpuset",
  doc = "Idle priority, and fewer CPUs for best-effort pods while services use many.",

  params = {
    enter_percent = { type = "percent", default = 55,
      doc = "share of the node that services use from which on CPUs are taken away" },
    leave_percent = { type = "percent", default = 45,
      doc = "share below which they are given back, after `hold`" },
    hold = { type = "duration", default = "10s", doc = "how long it must be below it" },
    keep_percent = { type = "percent", min = 1, default = 50,
      doc = "share of the CPUs that best-effort pods keep meanwhile" },
  },

  needs = { "mono_usec", "capacity_milli", "critical_used_milli", "topology", "supports",
            "reserved_cpus", "system_cpus" },

  tick = function(ctx, node)
    local params, memo = ctx.params, ctx.memo
    local percent = node.critical_used_milli * 100 // math.max(node.capacity_milli, 1)
    local why = ("services use %d%% of the node"):format(percent)
    if percent >= params.enter_percent then
      memo.is_narrow, memo.calm_usec = true, nil
    elseif memo.is_narrow and percent >= params.leave_percent then
      memo.calm_usec = nil
    elseif memo.is_narrow then
      memo.calm_usec = memo.calm_usec or node.mono_usec
      if node.mono_usec - memo.calm_usec >= params.hold * 1000000 then
        memo.is_narrow, memo.calm_usec = nil, nil
      end
    end

    local writes = { { target = "besteffort", key = "cpu.shares", value = 2, why = why } }
    if node.supports["cpu.idle"] then
      writes[2] = { target = "besteffort.pods", key = "cpu.idle", value = 1, why = why }
    end
    local pool = node.topology:cpus() - node.reserved_cpus - node.system_cpus
    if memo.is_narrow and node.supports["cpuset.cpus"] and #pool > 1 then
      local set = node.topology:pick_set(pool, math.max(#pool * params.keep_percent // 100, 1))
      for _, target in ipairs({ "besteffort", "besteffort.pods", "besteffort.containers" }) do
        writes[#writes + 1] = { target = target, key = "cpuset.cpus", value = set, why = why }
      end
    end
    return writes
  end,

  examples = {
    { name = "comes at once, stays between the thresholds, goes after a while",
      node = { capacity_milli = 2000, topology = { cores = 2 },
               supports = { "cpu.idle", "cpuset.cpus" } },
      steps = {
        { node = { critical_used_milli = 800 },
          want = { { target = "besteffort", key = "cpu.shares", value = 2 },
                   { target = "besteffort.pods", key = "cpu.idle", value = 1 } } },
        { node = { critical_used_milli = 1200 }, after_s = 1,
          want = { { target = "besteffort", key = "cpu.shares", value = 2 },
                   { target = "besteffort.pods", key = "cpu.idle", value = 1 },
                   { target = "besteffort", key = "cpuset.cpus", value = "0" },
                   { target = "besteffort.pods", key = "cpuset.cpus", value = "0" },
                   { target = "besteffort.containers", key = "cpuset.cpus", value = "0" } } },
        { node = { critical_used_milli = 1000 }, after_s = 60,
          want = { { target = "besteffort", key = "cpu.shares", value = 2 },
                   { target = "besteffort.pods", key = "cpu.idle", value = 1 },
                   { target = "besteffort", key = "cpuset.cpus", value = "0" },
                   { target = "besteffort.pods", key = "cpuset.cpus", value = "0" },
                   { target = "besteffort.containers", key = "cpuset.cpus", value = "0" } } },
        { node = { critical_used_milli = 100 }, after_s = 1,
          want = { { target = "besteffort", key = "cpu.shares", value = 2 },
                   { target = "besteffort.pods", key = "cpu.idle", value = 1 },
                   { target = "besteffort", key = "cpuset.cpus", value = "0" },
                   { target = "besteffort.pods", key = "cpuset.cpus", value = "0" },
                   { target = "besteffort.containers", key = "cpuset.cpus", value = "0" } } },
        { node = { critical_used_milli = 100 }, after_s = 10,
          want = { { target = "besteffort", key = "cpu.shares", value = 2 },
                   { target = "besteffort.pods", key = "cpu.idle", value = 1 } } },
      } },
  },
}
