-- want: budget
-- within: 130 ms
local s = ('x'):rep(65000)
while true do s:upper():lower():reverse() end
