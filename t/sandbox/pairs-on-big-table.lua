-- want: budget
-- within: 130 ms
local t = {}
for i = 1, 4096 do t[-i] = true end
while true do pairs(t) end
