-- want: budget
-- within: 150 ms
local a = ('x'):rep(60000)
for i = 1, 2 do a = a .. a end
local b = a .. 'y'
while true do local _ = a < b end
