-- want: error over 50000
-- within: 200 ms
-- budget: 150
local t = {}
for i = 1, 50001 do t[i] = i end
table.sort(t)
