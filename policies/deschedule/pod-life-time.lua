-- SPDX-License-Identifier: Apache-2.0

--- Evicts pods that are older than a bound, or that are in a state, under a condition or
--- with an exit code that is listed. All criteria that are given must hold. The oldest
--- leaves first.

local STATES = {
  -- phases
  "Running", "Pending", "Succeeded", "Failed", "Unknown",
  -- reasons of pods
  "NodeAffinity", "NodeLost", "Shutdown", "UnexpectedAdmissionError",
  -- reasons of containers that wait
  "PodInitializing", "ContainerCreating", "ImagePullBackOff", "CrashLoopBackOff",
  "CreateContainerConfigError", "ErrImagePull", "CreateContainerError", "InvalidImageName",
  -- reasons of containers that ended
  "OOMKilled", "Error", "Completed", "DeadlineExceeded", "Evicted", "ContainerCannotRun",
  "StartError",
}

local function is_in(list, value)
  for _, one in ipairs(list) do
    if one == value then
      return true
    end
  end
  return false
end

--- Whether init and ephemeral containers are looked at is asked for by parameters.
local function counts(params, container)
  return container.part == "main"
    or container.part == "init" and params.includingInitContainers
    or container.part == "ephemeral" and params.includingEphemeralContainers
end

local function has_state(params, pod)
  if is_in(params.states, pod.phase) or is_in(params.states, pod.reason) then
    return true
  end
  for _, container in ipairs(pod.containers) do
    if counts(params, container)
      and (is_in(params.states, container.waiting) or is_in(params.states, container.terminated))
    then
      return true
    end
  end
  return false
end

local function has_exit_code(params, pod)
  for _, container in ipairs(pod.containers) do
    if container.exit_code and is_in(params.exitCodes, container.exit_code)
      and (container.part == "main"
        or container.part == "init" and params.includingInitContainers)
    then
      return true
    end
  end
  return false
end

local function is_condition(want, is, now)
  return (not want.type or want.type == is.type)
    and (not want.status or want.status == is.status)
    and (not want.reason or want.reason == is.reason)
    and (not want.minTimeSinceLastTransitionSeconds
      or is.since_unix ~= nil
        and now - is.since_unix >= want.minTimeSinceLastTransitionSeconds)
end

local function has_condition(params, pod, now)
  for _, is in ipairs(pod.conditions) do
    for _, want in ipairs(params.conditions) do
      if is_condition(want, is, now) then
        return true
      end
    end
  end
  return false
end

local function has_owner_of(kinds, pod)
  for _, kind in ipairs(kinds) do
    if pod:has_owner(kind) then
      return true
    end
  end
  return false
end

local function has_owners(params, pod)
  local include, exclude = params.ownerKinds.include or {}, params.ownerKinds.exclude or {}
  if #include > 0 then
    return has_owner_of(include, pod)
  end
  return not has_owner_of(exclude, pod)
end

--- A list that is left out asks for nothing, and so does an empty one.
local function is_given(list)
  return list ~= nil and #list > 0
end

---@type neap.DeschedulePolicy
return {
  api = 1,
  kind = "deschedule",
  name = "pod-life-time",
  plugin = "PodLifeTime",
  point = "deschedule",
  doc = "Evicts pods that are too old, or too long in a state or under a condition.",

  params = {
    namespaces = { type = "object", at_most_one = { "include", "exclude" }, fields = {
      include = { type = "list", of = "string", max_items = 1024 },
      exclude = { type = "list", of = "string", max_items = 1024 },
    }, doc = "the namespaces whose pods may leave, or may not" },
    labelSelector = { type = "selector", doc = "the pods that are looked at" },
    maxPodLifeTimeSeconds = { type = "integer", min = 0,
                              doc = "pods that are older leave" },
    states = { type = "list", of = { type = "enum", values = STATES },
               doc = "phases of pods, or reasons of pods or containers" },
    conditions = { type = "list", of = { type = "object", fields = {
      type = { type = "string" },
      status = { type = "string" },
      reason = { type = "string" },
      minTimeSinceLastTransitionSeconds = { type = "integer", min = 0 },
    } }, doc = "conditions of pods; all given fields of an entry must hold" },
    exitCodes = { type = "list", of = "integer",
                  doc = "exit codes of containers that ended" },
    ownerKinds = { type = "object", at_most_one = { "include", "exclude" }, fields = {
      include = { type = "list", of = "string" },
      exclude = { type = "list", of = "string" },
    }, doc = "kinds of owners whose pods may leave, or may not" },
    includingInitContainers = { type = "boolean", default = false,
                                doc = "look at init containers too" },
    includingEphemeralContainers = { type = "boolean", default = false,
                                     doc = "look at ephemeral containers too, for states" },
  },

  valid = function(params)
    if not params.maxPodLifeTimeSeconds and not is_given(params.states)
      and not is_given(params.conditions) and not is_given(params.exitCodes)
    then
      return { { field = "maxPodLifeTimeSeconds",
                 message = "this, states, conditions or exitCodes is needed" } }
    end
    for i, condition in ipairs(params.conditions or {}) do
      if not (condition.type or condition.status or condition.reason
          or condition.minTimeSinceLastTransitionSeconds)
      then
        return { { field = ("conditions[%d]"):format(i - 1), message = "it asks for nothing" } }
      end
    end
  end,

  ---@param ctx neap.Ctx
  ---@param round neap.Round
  run = function(ctx, round)
    local params = ctx.params
    local pods = round:pods({
      phases = "all", evictable = true, order = { "created" },
      namespaces = params.namespaces, labels = params.labelSelector,
    })
    for _, pod in ipairs(pods) do
      local age = pod.age_s
      if (not params.maxPodLifeTimeSeconds or age > params.maxPodLifeTimeSeconds)
        and (not is_given(params.states) or has_state(params, pod))
        and (not is_given(params.conditions) or has_condition(params, pod, ctx.now_unix))
        and (not is_given(params.exitCodes) or has_exit_code(params, pod))
        and (not params.ownerKinds or has_owners(params, pod))
      then
        local _, reason = round:evict(pod, ("it is %d s old"):format(age))
        if reason == "total-limit" then
          return
        end
      end
    end
  end,

  examples = {
    { name = "older than an hour",
      params = { maxPodLifeTimeSeconds = 3600 },
      now = "2026-01-01T00:00:00Z",
      cluster = {
        nodes = { { metadata = { name = "n1" } } },
        pods = {
          { metadata = { name = "old", namespace = "default",
                         creationTimestamp = "2025-12-31T22:00:00Z",
                         ownerReferences = { { kind = "ReplicaSet", name = "r", uid = "r" } } },
            spec = { nodeName = "n1" }, status = { phase = "Running" } },
          { metadata = { name = "young", namespace = "default",
                         creationTimestamp = "2025-12-31T23:30:00Z",
                         ownerReferences = { { kind = "ReplicaSet", name = "r", uid = "r" } } },
            spec = { nodeName = "n1" }, status = { phase = "Running" } },
        },
      },
      want = { evict = { "default/old" } } },
  },
}
