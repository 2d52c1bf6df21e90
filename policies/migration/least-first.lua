-- SPDX-License-Identifier: Apache-2.0

--- Which PodMigrationJob goes first: the one whose pod costs least to move. Jobs of pods
--- that are of one Job stay together, and Jobs that are being moved already come first.

local classes = { free = 1, batch = 2, mid = 3, prod = 4, [""] = 5 }
local kube = { BestEffort = 1, Burstable = 2, Guaranteed = 3 }
local qos = { BE = 1, LS = 2, LSR = 3, LSE = 4, [""] = 5 }

--- What is compared, one after the other; the smaller one goes first.
local function keys(job)
  local pod = job.pod
  if not pod then
    return { 0, 0, 0, 0, 0, 0, 0, 0, -job.created_unix }
  end
  return { 1, classes[pod.class], pod.priority, kube[pod.kube_qos], qos[pod.qos],
           pod.deletion_cost, pod.eviction_cost, -pod.created_unix, -job.created_unix }
end

local function by_keys(a, b)
  for i = 1, #a.keys do
    if a.keys[i] ~= b.keys[i] then
      return a.keys[i] < b.keys[i]
    end
  end
  return a.job.name < b.job.name
end

--- Those of one Job at the place of the first of them.
local function together(rows)
  local groups, of = {}, {}
  for _, row in ipairs(rows) do
    local batch = row.job.batch
    if batch and of[batch] then
      table.insert(of[batch], row.job)
    else
      local group = { row.job }
      table.insert(groups, group)
      if batch then
        of[batch] = group
      end
    end
  end
  return groups
end

---@type neap.MigrationPolicy
return {
  api = 1,
  kind = "migration",
  name = "least-first",
  doc = "The pod that costs least to move goes first.",

  order = function(_, jobs)
    local rows, ret = {}, {}
    for _, job in ipairs(jobs) do
      table.insert(rows, { job = job, keys = keys(job) })
    end
    table.sort(rows, by_keys)
    local groups = together(rows)
    local at = {}
    for i, group in ipairs(groups) do
      at[group] = i
    end
    table.sort(groups, function(a, b)
      if a[1].siblings ~= b[1].siblings then
        return a[1].siblings > b[1].siblings
      end
      return at[a] < at[b]
    end)
    for _, group in ipairs(groups) do
      for _, job in ipairs(group) do
        table.insert(ret, job)
      end
    end
    return ret
  end,

  examples = {
    { name = "batch goes before prod",
      jobs = {
        { name = "a", created_unix = 1, siblings = 0,
          pod = { namespace = "shop", name = "web-0", class = "prod", priority = 9000,
                  kube_qos = "Burstable", qos = "LS", deletion_cost = 0,
                  eviction_cost = 0, created_unix = 1 } },
        { name = "b", created_unix = 1, siblings = 0,
          pod = { namespace = "shop", name = "sum-0", class = "batch", priority = 5000,
                  kube_qos = "BestEffort", qos = "BE", deletion_cost = 0,
                  eviction_cost = 0, created_unix = 1 } },
      },
      want = { "b", "a" } },
    { name = "a job without a pod is over soon",
      jobs = {
        { name = "a", created_unix = 1, siblings = 0,
          pod = { namespace = "shop", name = "sum-0", class = "batch", priority = 5000,
                  kube_qos = "BestEffort", qos = "BE", deletion_cost = 0,
                  eviction_cost = 0, created_unix = 1 } },
        { name = "b", created_unix = 1, siblings = 0 },
      },
      want = { "b", "a" } },
    { name = "of equal pods the newer one goes first",
      jobs = {
        { name = "a", created_unix = 1, siblings = 0,
          pod = { namespace = "shop", name = "web-0", class = "prod", priority = 9000,
                  kube_qos = "Burstable", qos = "LS", deletion_cost = 0,
                  eviction_cost = 0, created_unix = 1 } },
        { name = "b", created_unix = 1, siblings = 0,
          pod = { namespace = "shop", name = "web-1", class = "prod", priority = 9000,
                  kube_qos = "Burstable", qos = "LS", deletion_cost = 0,
                  eviction_cost = 0, created_unix = 2 } },
      },
      want = { "b", "a" } },
  },
}
