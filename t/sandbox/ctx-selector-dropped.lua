-- want: budget
-- within: 130 ms
-- ctx
local label, labels = ('x'):rep(63), {}
for i = 1, 64 do labels['k' .. i] = label end
while true do ctx.selector({ matchLabels = labels }) end
