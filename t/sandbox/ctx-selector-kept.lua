-- want: memory|budget
-- within: 130 ms
-- ctx
local kept, label = {}, ('x'):rep(63)
local labels = {}
for i = 1, 64 do labels['k' .. i] = label end
for i = 1, 1e6 do kept[i] = ctx.selector({ matchLabels = labels }) end
