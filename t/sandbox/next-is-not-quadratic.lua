-- want: ok
-- within: 130 ms
local t, n = {}, 0
for i = 1, 4000 do t['k' .. i] = i end
for k in next, t do n = n + 1 end
assert(n == 4000)
local a, b = next(t), next(t)
while a do a = next(t, a) b = b and next(t, b) end
