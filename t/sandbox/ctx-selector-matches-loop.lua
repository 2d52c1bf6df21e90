-- want: budget
-- within: 130 ms
-- ctx
local s = ctx.selector({ matchExpressions = { { key = 'a', operator = 'Exists' } } })
while true do s:matches({ a = 'b' }) end
