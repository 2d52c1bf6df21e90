-- want: memory|budget
-- within: 130 ms
local t = {}
while true do t[#t + 1] = function() return t end end
