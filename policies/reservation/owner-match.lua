-- SPDX-License-Identifier: Apache-2.0

--- Who may use a reservation: whom its spec.owners name. One entry that takes the pod is
--- enough; of an entry all that it says must hold. neapd matches like that by itself:
--- this is the rule to copy and change. With combine = "replace" a copy decides alone,
--- and an admin has to load it.

--- What is said must be so; what is not said does not matter.
local function is_same(wanted, is)
  return wanted == nil or wanted == is
end

--- kind, resourceVersion and fieldPath are not looked at.
local function is_object(ref, pod)
  return is_same(ref.uid, pod.uid) and is_same(ref.name, pod.name)
    and is_same(ref.namespace, pod.namespace) and is_same(ref.apiVersion, "v1")
end

--- Some owner of the pod is as the entry says; the namespace is that of the pod.
local function has_controller(ref, pod)
  if not is_same(ref.namespace, pod.namespace) then
    return false
  end
  for _, owner in ipairs(pod.ownerReferences) do
    if is_same(ref.uid, owner.uid) and is_same(ref.name, owner.name)
      and is_same(ref.kind, owner.kind) and is_same(ref.apiVersion, owner.apiVersion)
      and is_same(ref.controller, owner.controller) then
      return true
    end
  end
  return false
end

local function takes(entry, pod)
  return (not entry.object or is_object(entry.object, pod))
    and (not entry.controller or has_controller(entry.controller, pod))
    and (not entry.labelSelector or entry.labelSelector:matches(pod.labels))
end

local web = { labels = { app = "web" }, namespace = "shop", name = "web-0",
              ownerReferences = { { apiVersion = "apps/v1", kind = "ReplicaSet", name = "web",
                                    uid = "u1", controller = true } } }

---@type neap.ReservationPolicy
return {
  api = 1,
  kind = "reservation",
  name = "owner-match",
  doc = "Whoever spec.owners name may use a reservation.",

  needs = { "pod.name", "pod.namespace", "pod.uid", "pod.labels", "pod.ownerReferences",
            "resv.owners" },

  ---@param pod neap.PlacePod
  ---@param resv neap.Resv
  match = function(_, pod, resv)
    for _, entry in ipairs(resv.owners) do
      if takes(entry, pod) then
        return true
      end
    end
    return false, "its owners do not take the pod"
  end,

  examples = {
    { name = "by label", pod = web,
      reservation = { owners = { { labelSelector = { matchLabels = { app = "web" } } } } },
      want = true },
    { name = "by expression", pod = web,
      reservation = { owners = { { labelSelector = { matchExpressions = {
        { key = "app", operator = "NotIn", values = { "web", "shop" } } } } } } },
      want = "its owners do not take the pod" },
    { name = "by name", pod = web,
      reservation = { owners = { { object = { namespace = "shop", name = "web-0" } } } },
      want = true },
    { name = "by controller", pod = web,
      reservation = { owners = { { controller = { kind = "ReplicaSet", name = "web",
                                                  controller = true } } } },
      want = true },
    { name = "the controller of another namespace", pod = web,
      reservation = { owners = { { controller = { namespace = "bank", name = "web" } } } },
      want = false },
    { name = "all that an entry says must hold", pod = web,
      reservation = { owners = { { object = { name = "web-0" },
                                   labelSelector = { matchLabels = { app = "db" } } } } },
      want = false },
    { name = "one entry is enough", pod = web,
      reservation = { owners = { { object = { name = "db-0" } },
                                 { labelSelector = { matchLabels = { app = "web" } } } } },
      want = true },
    { name = "an entry that says nothing takes everybody", reservation = { owners = { {} } },
      want = true },
    { name = "without an entry nobody may", reservation = { owners = {} }, want = false },
  },
}
