-- SPDX-License-Identifier: Apache-2.0
--
-- Lets best-effort pods use whatever CPU time is left, and takes means in the order of
-- what they cost them:
--
--   1. Priority, always: the lowest weight, and idle priority (cpu.idle) on top of it
--      while critical pods use most of the machine. Idle priority alone puts threads that
--      wake up onto CPUs where best-effort pods run, as if these were empty, and does not
--      always interrupt them: right when no CPU is empty anyway, worse than the weight
--      when some are.
--   2. CPUs, when critical pods wait all the same, and only so many that what the
--      critical pods use fits onto the CPUs that become free, with room for bursts. The
--      scheduler prefers CPUs on which nothing runs: where too few are free, it crowds
--      the critical pods onto these, and they wait for each other. Whoever uses nearly
--      all of the machine, or has no two CPUs to become free, is thus best served by
--      priority alone. CPUs come back one step at a time after a quiet while.
--   3. A quota, last, when the fewest CPUs are not few enough. It throws CPU time away
--      and makes best-effort pods run in bursts, so it is the first to go.
--
-- doc/colocation.md has the measurements behind this. cpu.idle never goes on the
-- directory of the class: a kubelet sets cpu.shares there when it starts, and the kernel
-- refuses that on an idle group.

local LOWEST_SHARES = 2
-- Percent of the node by which use must fall before idle priority ends.
local IDLE_PLAY = 10
-- The fewest CPUs that may become free: on one, each request waits for all before it.
local FREE_MIN = 2
-- Free CPUs beyond what is used, in square roots of that: the rule of square-root
-- staffing (Halfin and Whitt, 1981), by which waiting stays as rare on few CPUs as on
-- many.
local STAFFING = 0.7
-- Several pods that stall together are one reason to cut, not several.
local STALL_PAUSE_USEC = 400000

--- Critical use now or on average, whichever is more: a burst counts at once, its end
--- slowly.
local function critical_milli(node)
  return math.max(node.critical_used_milli, node.critical_used_avg_milli or 0)
end

--- CPUs that best-effort pods can be given at all.
local function find_pool(node)
  return node.topology:cpus() - node.reserved_cpus - node.system_cpus - node.exclusive_cpus
end

--- How CPUs can be taken away here: the pool, the fewest that stay, and the size of a
--- step, all in whole cores. nil where there is nothing to narrow.
local function find_range(node, params)
  if not node.supports["cpuset.cpus"] then
    return nil
  end
  local pool = find_pool(node)
  local all = #pool
  if all == 0 then
    return nil
  end
  local core = math.max(#node.topology:siblings(pool:list()[1]), 1)
  local function whole(n)
    return (n + core - 1) // core * core
  end
  local range = { pool = pool, all = all, core = core, min = whole(params.min_cpus),
                  step = whole(math.max(all * params.step_percent // 100, 1)) }
  return range.min < all and range or nil
end

--- The CPUs that best-effort pods keep when the critical ones get all that they use, and
--- the headroom, for themselves. nil where that is not to be had.
local function find_room(node, params, range, used)
  if not range then
    return nil
  end
  local headroom = math.max(node.capacity_milli * params.headroom_percent // 100,
                            math.floor(STAFFING * math.sqrt(used * 1000)))
  local milli = math.min(node.capacity_milli - used - headroom, (range.all - FREE_MIN) * 1000)
  local cpus = milli // 1000 // range.core * range.core
  return cpus >= range.min and cpus or nil
end

--- What the critical pods ask for in this tick; nil while nobody knows.
local function look(node, params, range)
  if not node.critical_used_milli then
    return nil
  end
  local used = critical_milli(node)
  local pressure = node.critical_pressure or 0
  return {
    used_percent = used * 100 // math.max(node.capacity_milli, 1),
    room = find_room(node, params, range, used),
    is_waiting = pressure >= params.pressure_high,
    is_calm = pressure <= params.pressure_low,
    why = ("critical pods use %dm, wait %.0f%%"):format(used, pressure * 100),
  }
end

--- Whether best-effort pods run idle: as the parameter says, or by use, with some play so
--- that use about the limit does not switch it to and fro.
local function wants_idle(node, params, memo, seen)
  if params.priority ~= "auto" or not node.supports["cpu.idle"] then
    return params.priority == "idle" and node.supports["cpu.idle"]
  end
  if seen then
    local limit = memo.is_idle and params.idle_percent - IDLE_PLAY or params.idle_percent
    memo.is_idle = seen.used_percent >= limit or nil
  end
  return memo.is_idle
end

--- Seconds since memo[name] was first set; starts the clock when it does not run.
local function seconds_since(memo, name, now)
  memo[name] = memo[name] or now
  return now - memo[name]
end

--- Takes CPUs away: first as many as make the critical pods fit, then step by step. False
--- when there are none to take.
local function take(memo, range, seen)
  local cpus = memo.cpus or range.all
  local fewer = cpus - range.step
  if not memo.cpus then
    fewer = math.min(fewer, seen.room)
  end
  memo.cpus = math.max(fewer // range.core * range.core, range.min)
  return memo.cpus < cpus
end

--- A critical pod stalls now. The quota is not for this: a short stall does not justify
--- throwing CPU time away.
local function cut(memo, now_usec, range, seen)
  if not seen.room or memo.cut_usec and now_usec - memo.cut_usec < STALL_PAUSE_USEC then
    return
  end
  memo.cut_usec, memo.quiet_since = now_usec, nil
  take(memo, range, seen)
end

--- Moves memo.cpus (nil: all of them) and memo.has_quota by at most one stage.
local function decide(memo, now, params, range, seen)
  if range and not seen.room then
    memo.cpus, memo.has_quota, memo.quiet_since, memo.waiting_since = nil, nil, nil, nil
    return
  end
  -- Once they have CPUs of their own, they keep them when they need more.
  if memo.cpus and seen.room < memo.cpus then
    memo.cpus, memo.quiet_since = seen.room, nil
    return
  end

  if seen.is_waiting then
    memo.quiet_since = nil
    if seconds_since(memo, "waiting_since", now) >= params.patience then
      memo.waiting_since = now
      if not (range and take(memo, range, seen)) then
        memo.has_quota = true
      end
    end
    return
  end
  memo.waiting_since = nil

  local can_grow = memo.has_quota or memo.cpus
  if not (can_grow and seen.is_calm) then
    memo.quiet_since = nil
    return
  end
  if seconds_since(memo, "quiet_since", now) < params.quiet then
    return
  end
  memo.quiet_since = now
  if memo.has_quota then
    memo.has_quota = nil
  elseif memo.cpus < seen.room then
    memo.cpus = math.min(memo.cpus + range.step, seen.room)
  else
    memo.cpus = nil
  end
end

local function priority_writes(is_idle, writes)
  local why = "best-effort pods run in what is left"
  writes[1] = { target = "besteffort", key = "cpu.shares", value = LOWEST_SHARES, why = why }
  if is_idle then
    writes[2] = { target = "besteffort.pods", key = "cpu.idle", value = 1, why = why }
  end
end

--- A kubelet with the static CPU manager writes the sets of its containers, so that the
--- directories above them must stay as wide as they are.
local function cpuset_writes(node, range, cpus, why, writes)
  local set = node.topology:pick_set(range.pool, cpus)
  local targets = { "besteffort", "besteffort.pods", "besteffort.containers" }
  if node.kubelet_cpu_policy == "static" then
    targets = { "besteffort.containers" }
  end
  for _, target in ipairs(targets) do
    writes[#writes + 1] = { target = target, key = "cpuset.cpus", value = set, why = why }
  end
end

-- For the examples: four cores with two threads each (0-1, 2-3, 4-5, 6-7).
local machine = { cores = 4, threads = 2 }
local can = { "cpu.idle", "cpu.shares", "cpu.max_milli", "cpuset.cpus" }

local function using(milli, pressure)
  return {
    capacity_milli = 8000, critical_used_milli = milli,
    critical_pressure = pressure or 0.0,
    topology = machine, supports = can,
  }
end

local function stalled(milli)
  local node = using(milli)
  node.trigger = "stall"
  return node
end

local function low()
  return { { target = "besteffort", key = "cpu.shares", value = 2 } }
end

local function idle()
  return { low()[1], { target = "besteffort.pods", key = "cpu.idle", value = 1 } }
end

local function narrowed(set, quota)
  local want = low()
  for _, target in ipairs({ "besteffort", "besteffort.pods", "besteffort.containers" }) do
    want[#want + 1] = { target = target, key = "cpuset.cpus", value = set }
  end
  if quota then
    want[#want + 1] = { target = "besteffort", key = "cpu.max_milli", value = quota }
  end
  return want
end

---@type neap.QosPolicy
return {
  api = 1,
  kind = "qos",
  name = "cpu-share",
  doc = "Best-effort pods get what is left: by priority, then fewer CPUs, then a quota.",

  params = {
    priority = { type = "enum", values = { "auto", "weight", "idle" }, default = "auto",
      doc = "weight: the lowest weight; idle: cpu.idle on the pods besides; auto: by use" },
    idle_percent = { type = "percent", min = 1, default = 75,
      doc = "share of the node that critical pods use from which on auto means idle" },
    headroom_percent = { type = "percent", max = 50, default = 15,
      doc = "share of the node kept free for bursts, where CPUs are taken" },
    pressure_high = { type = "number", min = 0, max = 1, default = 0.10,
      doc = "share of time a critical pod may wait for a CPU before CPUs are taken" },
    pressure_low = { type = "number", min = 0, max = 1, default = 0.03,
      doc = "share of time that counts as no waiting, before anything is given back" },
    patience = { type = "duration", default = "5s",
      doc = "how long a critical pod waits before the next step, and between two steps" },
    quiet = { type = "duration", default = "20s",
      doc = "how long it must be calm before one step is given back" },
    step_percent = { type = "percent", min = 1, default = 10,
      doc = "share of the CPUs that one step gives or takes, in whole cores" },
    min_cpus = { type = "integer", min = 1, max = 8192, default = 1,
      doc = "CPUs that best-effort pods keep, made up to whole cores" },
    quota_percent = { type = "percent", min = 1, default = 50,
      doc = "share of the fewest CPUs that the quota leaves" },
  },

  -- No field of single workloads: on a full node making those costs more than all the
  -- rest.
  needs = { "mono_usec", "capacity_milli", "critical_used_milli?", "critical_used_avg_milli?",
            "critical_pressure?", "topology", "supports", "reserved_cpus", "system_cpus",
            "exclusive_cpus", "kubelet_cpu_policy?", "trigger?" },

  -- Two fifths of half a second: a service that stalls. Waiting for a moment now and then
  -- is how CPUs are shared; what of it lasts, pressure_high sees in the average of ten
  -- seconds.
  triggers = {
    { name = "stall", pressure = "cpu", of = "critical", stall_usec = 200000,
      window_usec = 500000 },
  },

  ---@param ctx neap.Ctx
  ---@param node neap.NodeSample
  ---@return neap.Write[]
  tick = function(ctx, node)
    local params, memo = ctx.params, ctx.memo
    local range = find_range(node, params)
    local seen = look(node, params, range)
    -- CPUs may have come or gone since the last tick.
    if memo.cpus then
      local is_narrow = range and memo.cpus < range.all
      memo.cpus = is_narrow and math.max(memo.cpus, range.min) or nil
    end
    -- Without a figure of use yet, priority is right and everything else stays as it is.
    if seen then
      decide(memo, node.mono_usec // 1000000, params, range, seen)
      memo.why = seen.why
    end
    if node.trigger == "stall" and seen then
      cut(memo, node.mono_usec, range, seen)
      memo.why = "a critical pod waits for a CPU just now"
    end

    local writes = {}
    priority_writes(wants_idle(node, params, memo, seen), writes)
    if memo.cpus then
      cpuset_writes(node, range, memo.cpus, memo.why, writes)
    end
    if memo.has_quota and node.supports["cpu.max_milli"] then
      local fewest = range and range.min * 1000 or node.capacity_milli
      writes[#writes + 1] = { target = "besteffort", key = "cpu.max_milli",
                              value = math.max(fewest * params.quota_percent // 100, 20),
                              why = memo.why }
    end
    return writes
  end,

  examples = {
    { name = "a calm node: priority is enough", node = using(2000), want = low() },
    { name = "much use takes no CPUs, and makes the priority lower still",
      node = using(6500), want = idle() },
    { name = "idle priority does not go at once",
      steps = {
        { node = using(6000), want = idle() },
        { node = using(5500), after_s = 1, want = idle() },
        { node = using(5000), after_s = 1, want = low() },
        { node = using(5500), after_s = 1, want = low() },
      } },
    { name = "always idle", node = using(2000), params = { priority = "idle" }, want = idle() },
    { name = "never idle", node = using(7000), params = { priority = "weight" },
      want = low() },
    { name = "a kernel without cpu.idle: the weight has to do",
      params = { priority = "idle" },
      node = { capacity_milli = 8000, critical_used_milli = 2000, topology = machine,
               supports = { "cpu.shares", "cpuset.cpus" } },
      want = low() },
    -- 8000m less 2500m less 1200m of headroom: 4 CPUs, two whole cores
    { name = "waiting takes what the critical pods need, in whole cores",
      steps = {
        { node = using(2500, 0.3), want = low() },
        { node = using(2500, 0.3), after_s = 4, want = low() },
        { node = using(2500, 0.3), after_s = 1, want = narrowed("0-3") },
      } },
    { name = "a burst counts at once, its end slowly",
      steps = {
        { node = stalled(2500), want = narrowed("0-3") },
        { node = using(4500), after_s = 1, want = narrowed("0-1") },
        { node = { capacity_milli = 8000, critical_used_milli = 100,
                   critical_used_avg_milli = 4500, topology = machine, supports = can },
          after_s = 25, want = narrowed("0-1") },
      } },
    { name = "who uses nearly all of the machine is not crowded onto a part of it",
      steps = {
        { node = using(6000, 0.5), want = idle() },
        { node = using(6000, 0.5), after_s = 20, want = idle() },
        { node = stalled(6000), after_s = 1, want = idle() },
      } },
    { name = "who comes to need nearly all of it gets all of it back",
      steps = {
        { node = stalled(2000), want = narrowed("0-3") },
        { node = using(6000), after_s = 1, want = idle() },
      } },
    { name = "CPUs come back step by step",
      steps = {
        { node = stalled(4500), want = narrowed("0-1") },
        { node = using(1000), after_s = 1, want = narrowed("0-1") },
        { node = using(1000), after_s = 19, want = narrowed("0-1") },
        { node = using(1000), after_s = 1, want = narrowed("0-3") },
        { node = using(1000), after_s = 1, want = narrowed("0-3") },
        { node = using(1000), after_s = 19, want = low() },
      } },
    { name = "a disturbed quiet starts again",
      steps = {
        { node = stalled(4500), want = narrowed("0-1") },
        { node = using(1000), after_s = 1, want = narrowed("0-1") },
        { node = using(1000, 0.05), after_s = 15, want = narrowed("0-1") },
        { node = using(1000), after_s = 15, want = narrowed("0-1") },
        { node = using(1000), after_s = 20, want = narrowed("0-3") },
      } },
    { name = "waiting goes on: step by step, then a quota, which goes first",
      params = { min_cpus = 2 },
      steps = {
        { node = stalled(2000), want = narrowed("0-3") },
        { node = using(2000, 0.3), after_s = 1, want = narrowed("0-3") },
        { node = using(2000, 0.3), after_s = 5, want = narrowed("0-1") },
        { node = using(2000, 0.3), after_s = 5, want = narrowed("0-1", 1000) },
        { node = using(2000), after_s = 1, want = narrowed("0-1", 1000) },
        { node = using(2000), after_s = 20, want = narrowed("0-1") },
        { node = using(2000), after_s = 20, want = narrowed("0-3") },
        { node = using(2000), after_s = 20, want = low() },
      } },
    { name = "stalls take further steps, but not for each pod that stalls with another",
      steps = {
        { node = stalled(1000), want = narrowed("0-3") },
        { node = stalled(1000), want = narrowed("0-3") },
        { node = stalled(1000), after_s = 1, want = narrowed("0-1") },
      } },
    { name = "a stall leaves the fewest CPUs, and takes no quota",
      params = { min_cpus = 4 },
      steps = { { node = stalled(2000), want = narrowed("0-3") },
                { node = stalled(2000), after_s = 1, want = narrowed("0-3") } } },
    { name = "no room with so many CPUs to keep: priority alone",
      params = { min_cpus = 6 }, node = stalled(2000), want = low() },
    { name = "two CPUs: one alone is too few to wait for",
      node = { capacity_milli = 2000, critical_used_milli = 100, trigger = "stall",
               topology = { cores = 2 }, supports = can }, want = low() },
    -- 4000m less 1400m less 828m, seven tenths of the root of 1.4 CPUs
    { name = "few CPUs: bursts need more than the share that is kept free",
      node = { capacity_milli = 4000, critical_used_milli = 1400, trigger = "stall",
               topology = { cores = 4 }, supports = can }, want = narrowed("0") },
    { name = "a stall of a tick without figures: what fits is not known",
      node = { capacity_milli = 8000, topology = machine, supports = can,
               trigger = "stall" },
      want = low() },
    { name = "a stall where there is one CPU only: nothing to take",
      node = { capacity_milli = 1000, critical_used_milli = 700, trigger = "stall",
               topology = { cores = 1 }, supports = can }, want = low() },
    { name = "one CPU: nothing to narrow, the quota is what is left",
      node = { capacity_milli = 1000, critical_used_milli = 700, critical_pressure = 0.5,
               topology = { cores = 1 }, supports = can },
      steps = { { want = low() },
                { after_s = 5, want = { low()[1],
                  { target = "besteffort", key = "cpu.max_milli", value = 500 } } } } },
    { name = "exclusive and reserved CPUs are nobody else's",
      node = { capacity_milli = 8000, critical_used_milli = 4500, trigger = "stall",
               topology = machine, supports = can, reserved_cpus = "0-1",
               exclusive_cpus = "2-3" },
      want = narrowed("4-5") },
    { name = "the static CPU manager: only containers are narrowed",
      node = { capacity_milli = 8000, critical_used_milli = 4500, trigger = "stall",
               topology = machine, supports = can, kubelet_cpu_policy = "static" },
      want = { low()[1],
               { target = "besteffort.containers", key = "cpuset.cpus",
                 value = "0-1" } } },
    { name = "no use is known yet: priority all the same",
      node = { capacity_milli = 8000, topology = machine, supports = can },
      want = low() },
    { name = "a gap in the figures changes nothing",
      steps = {
        { node = stalled(4500), want = narrowed("0-1") },
        { node = { capacity_milli = 8000, topology = machine, supports = can },
          after_s = 1, want = narrowed("0-1") },
      } },
  },
}
