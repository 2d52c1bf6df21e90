-- want: error __mode
-- within: 130 ms
local N = 5000
local keys, order, seed = {}, {}, 1
for i = 1, N do keys[i] = {} order[i] = i end
for i = N, 2, -1 do
  seed = (seed * 1103515245 + 12345) % 2147483648
  local r = seed // 7 % i + 1
  order[i], order[r] = order[r], order[i]
end
local w = setmetatable({}, { __mode = 'k' })
for i = 1, N - 1 do w[keys[order[i]]] = keys[order[i + 1]] end
