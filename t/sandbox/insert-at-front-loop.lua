-- want: budget
-- within: 130 ms
local t = {}
while true do table.insert(t, 1, 0) if #t > 100000 then t = {} end end
