-- want: budget
-- within: 130 ms
local s = ('x'):rep(60000)
for i = 1, 2 do s = s .. s end
while true do pcall(tonumber, s) pcall(s.upper, s) end
