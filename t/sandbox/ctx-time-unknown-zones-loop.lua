-- want: budget
-- within: 130 ms
-- ctx
local i = 0
while true do i = i + 1 ctx.time.now('Zone' .. i) end
