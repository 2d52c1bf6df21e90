-- want: memory
-- within: 130 ms
local t = {}
for i = 1, 32768 do t[i * 65535] = true end
