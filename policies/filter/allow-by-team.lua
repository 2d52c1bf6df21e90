-- SPDX-License-Identifier: Apache-2.0

--- Nodes that belong to a team take pods of that team only, and pods that say of which
--- team they are go to its nodes or to nobody's. It is a rule for those who keep to it,
--- no fence: a pod says its team itself, and without this policy, or when it fails, every
--- node is open.
---@type neap.FilterPolicy
return {
  api = 1,
  kind = "filter",
  name = "allow-by-team",
  doc = "Nodes of a team take pods of that team only.",

  params = {
    shared = { type = "boolean", default = true,
               doc = "pods of a team may go to nodes of nobody, too" },
    spared = { type = "list", of = { type = "string" }, default = { "kube-system" },
               doc = "namespaces whose pods may go anywhere" },
  },

  needs = { "pod.namespace", "pod.labels.team?", "pod.is_daemon", "node.labels.team?" },

  ---@param ctx neap.Ctx
  ---@param pod neap.PlacePod
  ---@param node neap.PlaceNode
  ---@return boolean, string?
  allow = function(ctx, pod, node)
    local owner, team = node.labels.team, pod.labels.team
    if owner == team or pod.is_daemon then
      return true
    end
    for _, namespace in ipairs(ctx.params.spared) do
      if namespace == pod.namespace then
        return true
      end
    end
    if owner then
      return false, "it belongs to team " .. owner
    end
    return ctx.params.shared, "it belongs to no team"
  end,

  examples = {
    { name = "by label", pod = { labels = { team = "blue" } },
      nodes = { a = { labels = { team = "blue" } }, b = { labels = { team = "red" } }, c = {} },
      want = { a = true, b = "it belongs to team red", c = true } },
    { name = "own nodes only", params = { shared = false }, pod = { labels = { team = "blue" } },
      nodes = { a = { labels = { team = "blue" } }, c = {} },
      want = { a = true, c = "it belongs to no team" } },
    { name = "a pod of nobody", nodes = { a = { labels = { team = "blue" } }, c = {} },
      want = { a = "it belongs to team blue", c = true } },
    { name = "system pods go anywhere", pod = { namespace = "kube-system" },
      nodes = { a = { labels = { team = "blue" } } }, want = { a = true } },
  },
}
