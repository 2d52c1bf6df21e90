-- want: budget
-- within: 130 ms
local t = {}
for i = 1, 4096 do t[-i] = 1 end
for i = 1, 4096 do t[-i] = nil end
while true do next(t) end
