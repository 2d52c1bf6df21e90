-- want: budget
-- within: 160 ms
-- ctx
local empty, list = {}, {}
for i = 1, 100000 do empty[i] = i end
for i = 1, 100000 do empty[i] = nil end
for i = 1, 1900 do list[i] = empty end
while true do ctx.selector({ matchLabels = { a = list } }) end
