-- want: budget|memory
-- within: 130 ms
local t = {}
for i = 1, 1e9 do t[(i + 0.5) * 2 ^ 40] = true end
