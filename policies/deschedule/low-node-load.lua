-- SPDX-License-Identifier: Apache-2.0

--- Takes pods off nodes that really use too much, for nodes that use little, by the
--- reports of the nodes (NodeMetric). A node counts once it was over-used in several
--- rounds in a row. Production pods have thresholds of their own. Pools of nodes are
--- balanced one by one.

local DEFAULT_POOL = "__default_node_pool__"

local POOL_FIELDS = { "nodeSelector", "useDeviationThresholds", "highThresholds",
  "lowThresholds", "prodHighThresholds", "prodLowThresholds", "resourceWeights",
  "anomalyCondition" }

--- One map of percentages by resource.
local function percents(doc)
  return { type = "map", of = { type = "number", min = 0 }, doc = doc }
end

local function pool_params(more)
  local fields = {
    nodeSelector = { type = "selector", doc = "the nodes of the pool" },
    useDeviationThresholds = { type = "boolean",
                               doc = "thresholds are distances from the average" },
    highThresholds = percents("percent by resource; above one of them a node is over-used"),
    lowThresholds = percents("percent by resource; below all of them a node is under-used"),
    prodHighThresholds = percents("the same for what production pods use"),
    prodLowThresholds = percents("the same for what production pods use"),
    resourceWeights = { type = "map", of = { type = "number", min = 0 },
                        doc = "how much a resource counts in the order of nodes and pods [1]" },
    anomalyCondition = { type = "object", fields = {
      timeout = { type = "duration", default = "1m", doc = "an anomaly ends after this time" },
      consecutiveAbnormalities = { type = "integer", min = 1, default = 5,
                                   doc = "more over-used rounds in a row count; 1: each does" },
      consecutiveNormalities = { type = "integer", min = 1, default = 3,
                                 doc = "more good rounds in a row end it" },
    }, doc = "when an over-used node counts" },
  }
  for name, field in pairs(more) do
    fields[name] = field
  end
  return fields
end

--- The pools in their order: the one of the top level first, whose fields the others take
--- where they have none.
local function pools_of(params)
  local pools = {}
  local top = { name = DEFAULT_POOL }
  for _, field in ipairs(POOL_FIELDS) do
    top[field] = params[field]
  end
  pools[1] = top
  for _, given in ipairs(params.nodePools or {}) do
    local pool = { name = given.name }
    for _, field in ipairs(POOL_FIELDS) do
      pool[field] = given[field]
      if pool[field] == nil then
        pool[field] = params[field]
      end
    end
    pools[#pools + 1] = pool
  end
  return pools
end

local THRESHOLDS = { "lowThresholds", "highThresholds", "prodLowThresholds", "prodHighThresholds" }

local function has_thresholds(pool)
  for _, field in ipairs(THRESHOLDS) do
    if pool[field] and next(pool[field]) ~= nil then
      return true
    end
  end
  return false
end

--- The resources that count, and the thresholds in percent: what is missing among the low
--- ones does not bind.
local function bounds_of(pool)
  local names, seen = {}, {}
  local function track(name)
    if not seen[name] then
      seen[name] = true
      names[#names + 1] = name
    end
  end
  for _, field in ipairs(THRESHOLDS) do
    for name in pairs(pool[field] or {}) do
      track(name)
    end
  end
  track("memory")
  local off = pool.useDeviationThresholds and 0 or 100
  local function pair_of(low_field, high_field)
    local low, high = {}, {}
    for _, name in ipairs(names) do
      low[name] = (pool[low_field] or {})[name]
      high[name] = (pool[high_field] or {})[name]
      if low[name] == nil then
        low[name], high[name] = off, off
      elseif high[name] == nil then
        high[name] = off
      end
    end
    return low, high
  end
  local low, high = pair_of("lowThresholds", "highThresholds")
  local prod_low, prod_high = pair_of("prodLowThresholds", "prodHighThresholds")
  return { names = names, low = low, high = high, prod_low = prod_low, prod_high = prod_high }
end

local function weight_of(pool, name)
  local weight = (pool.resourceWeights or {})[name]
  return weight or 1
end

local function is_expired(node, limit)
  if not node.has_usage then
    return true
  end
  local age = node.usage_age_s
  return not age or age >= limit
end

--- What the measured nodes use: all pods and the system, and production pods alone.
local function look(nodes, bounds, params)
  local uses = {}
  for _, node in ipairs(nodes) do
    if not is_expired(node, params.nodeMetricExpirationSeconds) then
      local use = { node = node, at = #uses + 1, used = {}, prod = {}, capacity = {},
                    low = {}, high = {}, prod_low = {}, prod_high = {} }
      for _, name in ipairs(bounds.names) do
        use.capacity[name] = node:raw_allocatable(name) or 0
        if name == "pods" then
          use.used.pods = node.pod_count
          use.prod.pods = #node:pods({ class = "prod" })
        else
          use.used[name] = node:usage(name)
          use.prod[name] = node:usage(name, "prod")
        end
      end
      uses[#uses + 1] = use
    end
  end
  return uses
end

local function clamp(value)
  return math.max(0, math.min(100, value))
end

local function share(percent, capacity)
  return math.floor(percent * 0.01 * capacity)
end

--- The average use in percent over the nodes that have the resource.
local function average(uses, which, name)
  local sum, count = 0, 0
  for _, use in ipairs(uses) do
    if use.capacity[name] > 0 then
      sum, count = sum + use[which][name] / use.capacity[name] * 100, count + 1
    end
  end
  return count > 0 and sum / count or 0
end

--- Turns percentages into amounts, for every node.
local function set_limits(pool, uses, bounds)
  local function set(which, low_field, high_field)
    for _, name in ipairs(bounds.names) do
      local low, high = bounds[low_field][name], bounds[high_field][name]
      local is_off = pool.useDeviationThresholds and low == 0
      if pool.useDeviationThresholds and not is_off then
        local middle = average(uses, which, name)
        low, high = clamp(middle - low), clamp(middle + high)
      end
      for _, use in ipairs(uses) do
        local capacity = use.capacity[name]
        use[low_field][name] = is_off and capacity or share(low, capacity)
        use[high_field][name] = is_off and capacity or share(high, capacity)
      end
    end
  end
  set("used", "low", "high")
  set("prod", "prod_low", "prod_high")
end

local function is_below(used, limits)
  for name, limit in pairs(limits) do
    if used[name] > limit then
      return false
    end
  end
  return true
end

--- Sorts the nodes into classes: "high", "prod_high", "low", "prod_low", "both_low".
local function classify(uses)
  local classes = { high = {}, prod_high = {}, low = {}, prod_low = {}, both_low = {} }
  for _, use in ipairs(uses) do
    local is_prod_over = not is_below(use.prod, use.prod_high)
    local is_free = not use.node.is_cordoned
    local is_prod_low = is_free and is_below(use.prod, use.prod_low)
    local class
    if is_free and is_below(use.used, use.low) then
      class = is_prod_over and "prod_high" or is_prod_low and "both_low" or "low"
    elseif not is_below(use.used, use.high) then
      class = "high"
    else
      class = is_prod_over and "prod_high" or is_prod_low and "prod_low" or nil
    end
    use.class = class
    if class then
      local list = classes[class]
      list[#list + 1] = use
    end
  end
  return classes
end

local function key_of(pool, use, is_prod)
  return ("%s/%s/%s"):format(pool.name, is_prod and "prod" or "node", use.node.name)
end

--- Marks every measured node for this round: one that is not over-used ends its row.
local function mark(round, pool, uses, is_prod, rule)
  local class, found = is_prod and "prod_high" or "high", {}
  for _, use in ipairs(uses) do
    local is_over = use.class == class
    local is_anomalous = round:mark(key_of(pool, use, is_prod), not is_over, rule)
    if is_over and (is_anomalous or rule.is_open) then
      found[#found + 1] = use
    end
  end
  return found
end

local function rule_of(pool)
  local condition = pool.anomalyCondition
    or { timeout = 60, consecutiveAbnormalities = 5, consecutiveNormalities = 3 }
  return {
    abnormal = condition.consecutiveAbnormalities + 1,
    normal = condition.consecutiveNormalities + 1,
    timeout_s = condition.timeout,
    is_open = condition.consecutiveAbnormalities == 1,
  }
end

--- The room of the nodes below their high thresholds.
local function room_of(uses, bounds, used, high)
  local room = {}
  for _, name in ipairs(bounds.names) do
    room[name] = 0
    for _, use in ipairs(uses) do
      room[name] = room[name] + use[high][name] - use[used][name]
    end
  end
  return room
end

--- Highest use first, each resource in thousandths of its capacity.
local function sort_sources(pool, uses, bounds, which)
  for _, use in ipairs(uses) do
    local sum, weights = 0, 0
    for _, name in ipairs(bounds.names) do
      local capacity, weight = use.capacity[name], weight_of(pool, name)
      local used = math.min(use[which][name], capacity)
      sum = sum + (capacity > 0 and used * 1000 // capacity or 0) * weight
      weights = weights + weight
    end
    use.score = weights > 0 and sum / weights or 0
  end
  table.sort(uses, function(a, b)
    if a.score ~= b.score then
      return a.score > b.score
    end
    return a.at < b.at
  end)
end

--- Whether the pod fits a target without lifting it over its high threshold; what it uses
--- then counts there.
local function finds_target(pod, targets, rule)
  for _, use in ipairs(targets) do
    if pod:fits(use.node, "plain") then
      local fits = true
      for name, limit in pairs(use[rule.high]) do
        if use[rule.used][name] + (pod:usage(name) or 0) > limit then
          fits = false
          break
        end
      end
      if fits then
        for name, used in pairs(use[rule.used]) do
          use[rule.used][name] = used + (pod:usage(name) or 0)
        end
        return true
      end
    end
  end
  return false
end

--- How well the pod's going covers what the node has too much.
local function relief(pod, pool, use, rule)
  local sum, weights = 0, 0
  for name, limit in pairs(use[rule.high]) do
    local excess = use[rule.used][name] - limit
    if excess > 0 then
      local ratio = (name == "pods" and 1 or pod:usage(name) or 0) / excess
      local score = ratio < 1 and ratio or 1 + 1 / ratio
      sum = sum + score * weight_of(pool, name)
      weights = weights + weight_of(pool, name)
    end
  end
  return weights > 0 and sum / weights or 0
end

local function is_over(use, rule)
  return not is_below(use[rule.used], use[rule.high])
end

local function has_room(room)
  for _, left in pairs(room) do
    if left <= 0 then
      return false
    end
  end
  return true
end

--- "node is overutilized, node cpu usage(65.00%)>threshold(50.00%)"
local function reason_of(use, rule, names)
  local texts = { "node is overutilized" }
  for _, name in ipairs(names) do
    local capacity = use.capacity[name]
    if capacity > 0 and use[rule.used][name] > use[rule.high][name] then
      texts[#texts + 1] = ("%s %s usage(%.2f%%)>threshold(%.2f%%)"):format(
        rule.is_prod and "prod" or "node", name, use[rule.used][name] / capacity * 100,
        use[rule.high][name] / capacity * 100)
    end
  end
  return table.concat(texts, ", ")
end

local ORDER = { "class", "priority", "kube_qos", "qos", "deletion_cost", "eviction_cost",
  "-score", "-created" }

--- Lets pods go from the sources, until these are below their thresholds or the targets
--- have no more room.
local function balance(ctx, round, pool, bounds, rule, sources, targets, room)
  local params = ctx.params
  local selectors = {}
  for i, entry in ipairs(params.podSelectors or {}) do
    selectors[i] = entry.selector
  end
  for _, use in ipairs(sources) do
    local pods, scores = {}, {}
    for _, pod in ipairs(use.node:pods({ phases = "all", evictable = true,
        namespaces = params.evictableNamespaces, any_of = selectors,
        class = rule.is_prod and "prod" or nil })) do
      if not params.nodeFit or pod:usage("memory") and finds_target(pod, targets, rule) then
        pods[#pods + 1] = pod
        scores[#scores + 1] = relief(pod, pool, use, rule)
      end
    end
    for _, pod in ipairs(round:sort(pods, ORDER, scores)) do
      if not is_over(use, rule) then
        round:unmark(key_of(pool, use, rule.is_prod))
        break
      elseif not has_room(room) then
        break
      end
      local ok, reason = true, nil
      local why = reason_of(use, rule, bounds.names)
      if params.dryRun then
        ctx.log(("%s/%s would leave: %s"):format(pod.namespace, pod.name, why))
      else
        ok, reason = round:evict(pod, why)
      end
      if ok and pod:usage("memory") then
        for _, name in ipairs(bounds.names) do
          local amount = name == "pods" and 1 or pod:usage(name)
          use.used[name] = use.used[name] - amount
          if rule.is_prod then
            use.prod[name] = use.prod[name] - amount
          end
          room[name] = room[name] - amount
        end
      elseif reason == "total-limit" then
        return
      elseif reason == "node-limit" then
        break
      end
    end
    if not is_over(use, rule) then
      round:unmark(key_of(pool, use, rule.is_prod))
    end
  end
end

local function join(a, b)
  return table.move(b, 1, #b, #a + 1, table.move(a, 1, #a, 1, {}))
end

local NODE_RULE = { used = "used", high = "high", is_prod = false }
local PROD_RULE = { used = "prod", high = "prod_high", is_prod = true }

--- Returns the nodes that were over-used, when the pool was balanced.
local function balance_pool(ctx, round, pool, nodes)
  local params = ctx.params
  local bounds = bounds_of(pool)
  local uses = look(nodes, bounds, params)
  set_limits(pool, uses, bounds)
  local classes = classify(uses)
  local rule = rule_of(pool)
  local sources = mark(round, pool, uses, false, rule)
  local prod_sources = mark(round, pool, uses, true, rule)
  local low_count = #classes.low + #classes.prod_low + #classes.both_low
  if #sources + #prod_sources == 0 or low_count == 0 then
    return {}
  end
  for _, use in ipairs(join(classes.low, classes.prod_low)) do
    round:unmark(key_of(pool, use, false))
  end
  if low_count <= params.numberOfNodes or low_count == #nodes then
    return {}
  end

  local targets = join(classes.low, classes.both_low)
  local room = room_of(targets, bounds, "used", "high")
  local both = room_of(classes.both_low, bounds, "used", "high")
  local before = {}
  for name, left in pairs(room) do
    before[name] = left
  end
  sort_sources(pool, sources, bounds, "used")
  if #targets > 0 then
    balance(ctx, round, pool, bounds, NODE_RULE, sources, targets, room)
  end

  local prod_targets = join(classes.prod_low, classes.both_low)
  local prod_room = room_of(classes.prod_low, bounds, "prod", "prod_high")
  local both_prod = room_of(classes.both_low, bounds, "prod", "prod_high")
  for name, left in pairs(prod_room) do
    local kept = math.max(0, both[name] - (before[name] - room[name]))
    prod_room[name] = left + math.min(both_prod[name], kept)
  end
  sort_sources(pool, prod_sources, bounds, "prod")
  if #prod_targets > 0 then
    balance(ctx, round, pool, bounds, PROD_RULE, prod_sources, prod_targets, prod_room)
  end

  -- Something was done about them: one good mark.
  for _, use in ipairs(sources) do
    round:mark(key_of(pool, use, false), true, rule)
  end
  for _, use in ipairs(prod_sources) do
    round:mark(key_of(pool, use, true), true, rule)
  end
  return classes.high
end

local function example_node(name, cpu, pods)
  local metrics = {}
  for i, pod in ipairs(pods) do
    metrics[i] = { namespace = "default", name = pod[1],
                   podUsage = { resources = { cpu = pod[2], memory = "1Gi" } } }
  end
  return { metadata = { name = name },
           status = { allocatable = { cpu = cpu, memory = "64Gi", pods = "100" } } },
    { metadata = { name = name },
      status = { updateTime = "2026-01-01T00:00:00Z", podsMetric = metrics,
                 nodeMetric = { systemUsage = { resources = { cpu = "0", memory = "0" } } } } }
end

local function example_pod(name, node)
  return {
    metadata = { name = name, namespace = "default",
                 ownerReferences = { { kind = "ReplicaSet", name = "r", uid = "r" } } },
    spec = { nodeName = node, containers = { { name = "c", image = "web:1" } } },
    status = { phase = "Running" },
  }
end

local function example_cluster(busy)
  local full, full_metric = example_node("full", "4", busy)
  local empty, empty_metric = example_node("empty", "4", {})
  local pods = {}
  for i, pod in ipairs(busy) do
    pods[i] = example_pod(pod[1], "full")
  end
  return { nodes = { full, empty }, nodeMetrics = { full_metric, empty_metric }, pods = pods }
end

---@type neap.DeschedulePolicy
return {
  api = 1,
  kind = "deschedule",
  name = "low-node-load",
  plugin = "LowNodeLoad",
  point = "balance",
  doc = "Takes pods off nodes that really use too much.",

  params = pool_params({
    paused = { type = "boolean", default = false, doc = "do nothing" },
    dryRun = { type = "boolean", default = false, doc = "log who would leave" },
    numberOfNodes = { type = "integer", min = 0, default = 0,
                      doc = "nothing is done unless more nodes than these are under-used" },
    nodeMetricExpirationSeconds = { type = "integer", min = 1, default = 180,
                                    doc = "a report that is older does not count" },
    evictableNamespaces = { type = "object", at_most_one = { "include", "exclude" }, fields = {
      include = { type = "list", of = "string", max_items = 1024 },
      exclude = { type = "list", of = "string", max_items = 1024 },
    }, doc = "the namespaces whose pods may leave, or may not" },
    podSelectors = { type = "list", of = { type = "object", fields = {
      name = { type = "string" },
      selector = { type = "selector", required = true },
    } }, doc = "pods that one of them selects may leave; none: all" },
    nodeFit = { type = "boolean", default = true,
                doc = "only pods that fit an under-used node leave" },
    detectorCacheTimeout = { type = "duration", default = "5m",
                             doc = "over-used rounds longer ago do not count" },
    nodePools = { type = "list", of = { type = "object", fields = pool_params({
      name = { type = "string", required = true, doc = "for people" },
    }) }, doc = "pools of nodes; fields that are left out are those of the top level" },
  }),

  valid = function(params)
    local pairs_of = { { "lowThresholds", "highThresholds" },
      { "prodLowThresholds", "prodHighThresholds" }, { "prodHighThresholds", "highThresholds" } }
    for i, pool in ipairs(pools_of(params)) do
      for _, pair in ipairs(pairs_of) do
        local low, high = pool[pair[1]] or {}, pool[pair[2]] or {}
        for name, value in pairs(low) do
          if high[name] and value > high[name] and not pool.useDeviationThresholds then
            local field = i > 1 and ("nodePools[%d].%s"):format(i - 2, pair[1]) or pair[1]
            return { { field = field, message = ("%s is above %s"):format(name, pair[2]) } }
          end
        end
      end
    end
  end,

  triggers = { { event = "node-usage", key = "cpu", bound = 90 } },

  ---@param ctx neap.Ctx
  ---@param round neap.Round
  run = function(ctx, round)
    local params = ctx.params
    if params.paused then
      return
    end
    round:forget(math.max(params.detectorCacheTimeout, 2 * round.interval_s))
    local all = round:nodes()
    local is_done = {}
    for i = 1, #all > 0 and all[#all].index or 0 do
      is_done[i] = false
    end
    for _, pool in ipairs(pools_of(params)) do
      if has_thresholds(pool) then
        local nodes = {}
        for _, node in ipairs(pool.nodeSelector and round:nodes(pool.nodeSelector) or all) do
          if not pool.nodeSelector or not is_done[node.index] then
            nodes[#nodes + 1] = node
          end
        end
        for _, use in ipairs(balance_pool(ctx, round, pool, nodes)) do
          is_done[use.node.index] = true
        end
      end
    end
  end,

  examples = {
    { name = "over-used now, without patience",
      params = { lowThresholds = { cpu = 30 }, highThresholds = { cpu = 50 },
                 anomalyCondition = { consecutiveAbnormalities = 1 } },
      now = "2026-01-01T00:00:10Z",
      cluster = example_cluster({ { "p1", "1200m" }, { "p2", "1200m" }, { "p3", "300m" } }),
      want = { evict = { "default/p1" } } },
    { name = "over-used once is not enough",
      params = { lowThresholds = { cpu = 30 }, highThresholds = { cpu = 50 } },
      now = "2026-01-01T00:00:10Z",
      cluster = example_cluster({ { "p1", "1200m" }, { "p2", "1200m" }, { "p3", "300m" } }),
      want = { evict = {} } },
    { name = "the third time in a row is",
      params = { lowThresholds = { cpu = 30 }, highThresholds = { cpu = 50 },
                 anomalyCondition = { consecutiveAbnormalities = 2 } },
      now = "2026-01-01T00:00:10Z",
      cluster = example_cluster({ { "p1", "1200m" }, { "p2", "1200m" } }),
      steps = { { want = { count = 0 } }, { after_s = 30, want = { count = 0 } },
                { after_s = 30, want = { count = 1 } } } },
  },
}
