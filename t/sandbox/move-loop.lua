-- want: budget
-- within: 130 ms
local t = {}
while true do table.move(t, 1, 199999, 2) end
