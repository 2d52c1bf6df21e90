-- SPDX-License-Identifier: Apache-2.0
--- A reservation that names a team is for pods of that team.
---@type neap.ReservationPolicy
return {
  api = 1,
  kind = "reservation",
  name = "NAME",
  doc = "A reservation that names a team is for pods of that team.",

  needs = { "pod.labels.team?", "resv.labels.team?" },

  match = function(_, pod, resv)
    local team = resv.labels.team
    if team and team ~= pod.labels.team then
      return false, "it belongs to team " .. team
    end
    return true
  end,

  examples = {
    { name = "its own", pod = { labels = { team = "blue" } },
      reservation = { labels = { team = "blue" } }, want = true },
    { name = "another", pod = { labels = { team = "red" } },
      reservation = { labels = { team = "blue" } }, want = "it belongs to team blue" },
    { name = "one of nobody", want = true },
  },
}
