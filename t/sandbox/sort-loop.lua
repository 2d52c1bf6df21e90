-- want: budget
-- within: 130 ms
local t = {}
for i = 1, 2000 do t[i] = -i end
while true do table.sort(t, function(a, b) return t[a] and a < b end) table.sort(t) end
