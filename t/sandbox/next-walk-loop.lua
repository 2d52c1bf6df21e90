-- want: budget
-- within: 130 ms
local t = {}
for i = 1, 1000 do t['k' .. i] = i end
while true do local k = next(t) while k do k = next(t, k) end end
