-- SPDX-License-Identifier: Apache-2.0
--- The job that waits longest goes first.
---@type neap.MigrationPolicy
return {
  api = 1,
  kind = "migration",
  name = "NAME",
  doc = "The job that waits longest goes first.",

  order = function(_, jobs)
    table.sort(jobs, function(a, b)
      if a.created_unix ~= b.created_unix then
        return a.created_unix < b.created_unix
      end
      return a.name < b.name
    end)
    return jobs
  end,

  examples = {
    { name = "by age",
      jobs = { { name = "new", created_unix = 20, siblings = 0 },
               { name = "old", created_unix = 10, siblings = 0 } },
      want = { "old", "new" } },
  },
}
