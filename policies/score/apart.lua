-- SPDX-License-Identifier: Apache-2.0

--- Pods of the same app keep apart: nodes, and zones, that have fewer of them have more
--- points. Unlike topologySpreadConstraints it needs nothing in the pods but the label.
---@type neap.ScorePolicy
return {
  api = 1,
  kind = "score",
  name = "apart",
  doc = "Pods of the same app keep apart.",

  params = {
    weight = { type = "integer", min = 0, max = 100, default = 2,
               doc = "of this score beside the others" },
    label = { type = "string", default = "app", doc = "whose value makes pods the same" },
    zone = { type = "string", default = "topology.kubernetes.io/zone",
             doc = "label of the nodes that lie together" },
    zone_weight = { type = "number", min = 0, max = 100, default = 1,
                    doc = "how much the zone counts; a node counts 1" },
    full = { type = "integer", min = 1, max = 1000, default = 10,
             doc = "so many pods of the app, and there are no points left" },
  },

  ---@param ctx neap.Ctx
  ---@return neap.Terms
  plan = function(ctx)
    local params = ctx.params
    local curve = { { 0, 100 }, { params.full, 0 } }
    local column = "pods_same." .. params.label
    local terms = { weight = params.weight, { column = column, curve = curve, missing = 100 } }
    if params.zone_weight > 0 then
      terms[2] = { column = column .. "@" .. params.zone, weight = params.zone_weight,
                   curve = curve, missing = 100 }
    end
    return terms
  end,

  examples = {
    { name = "the node, and the zone, with fewer of them", params = { zone = "zone" },
      pod = { labels = { app = "web" } },
      nodes = {
        full = { labels = { zone = "a" },
                 pods = { { app = "web" }, { app = "web" }, { app = "db" } } },
        -- None here, two in its zone.
        beside = { labels = { zone = "a" } },
        other = { labels = { zone = "b" }, pods = { { app = "web" } } },
        -- A node without a zone is one by itself.
        alone = { pods = { { app = "db" }, {} } },
      },
      want = { full = 80, beside = 90, other = 90, alone = 100 } },
    { name = "by node alone", params = { zone_weight = 0, full = 2 },
      pod = { labels = { app = "web" } },
      nodes = {
        none = { pods = 3 },
        one = { pods = { { app = "web" } } },
        three = { pods = { { app = "web" }, { app = "web" }, { app = "web" } } },
      },
      want = { none = 100, one = 50, three = 0 } },
    { name = "a pod without the label is the same as none", pod = {},
      nodes = { a = { pods = { { app = "web" } } }, b = {} }, want = { a = 100, b = 100 } },
  },
}
