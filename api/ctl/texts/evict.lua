-- SPDX-License-Identifier: Apache-2.0
--- Pods with a label stay where they are, whatever the descheduler wants.
---@type neap.EvictPolicy
return {
  api = 1,
  kind = "evict",
  name = "NAME",
  doc = "Pods with a label stay where they are.",

  params = {
    label = { type = "string", default = "stays", doc = "the label; any value counts" },
  },

  allow = function(ctx, pod)
    return pod:label(ctx.params.label) == nil, "its label says that it stays"
  end,

  examples = {
    { name = "with the label", pod = "default/p",
      cluster = {
        nodes = { { metadata = { name = "n1" } } },
        pods = { { metadata = { name = "p", namespace = "default", labels = { stays = "yes" } },
                   spec = { nodeName = "n1" } } },
      },
      want = "its label says that it stays" },
    { name = "without", pod = "default/p",
      cluster = {
        nodes = { { metadata = { name = "n1" } } },
        pods = { { metadata = { name = "p", namespace = "default" }, spec = { nodeName = "n1" } } },
      },
      want = true },
  },
}
