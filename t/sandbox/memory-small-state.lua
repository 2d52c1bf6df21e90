-- want: memory
-- within: 130 ms
-- memory: 1
local t = {}
for i = 1, 1e6 do t[i] = i end
