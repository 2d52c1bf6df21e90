-- want: memory|budget
-- within: 130 ms
local s = 'x'
while true do s = s .. s end
