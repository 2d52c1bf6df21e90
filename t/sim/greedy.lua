-- SPDX-License-Identifier: Apache-2.0

--- The plainest way to balance, to compare with: from the fullest node pods go, the
--- largest first, until it is no fuller than the average.

return {
  api = 1,
  kind = "deschedule",
  name = "greedy",
  plugin = "Greedy",
  point = "balance",
  doc = "Evicts from the fullest nodes until they are at the average.",

  run = function(_, round)
    local nodes, sum = round:nodes(), 0
    local shares = {}
    for i, node in ipairs(nodes) do
      shares[i] = { node = node, at = i, share = node:requested("cpu") / node:allocatable("cpu") }
      sum = sum + shares[i].share
    end
    local average = sum / #nodes
    table.sort(shares, function(a, b)
      return a.share > b.share or a.share == b.share and a.at < b.at
    end)
    for _, one in ipairs(shares) do
      local pods = one.node:pods({ evictable = true })
      local at = {}
      for i, pod in ipairs(pods) do
        at[i] = { pod = pod, i = i, cpu = pod:requests("cpu") }
      end
      table.sort(at, function(a, b)
        return a.cpu > b.cpu or a.cpu == b.cpu and a.i < b.i
      end)
      for _, pod in ipairs(at) do
        if one.share <= average then
          break
        end
        if round:evict(pod.pod, "its node is above the average") then
          one.share = one.share - pod.cpu / one.node:allocatable("cpu")
        end
      end
    end
  end,
}
