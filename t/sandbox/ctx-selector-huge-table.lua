-- want: ok|budget
-- within: 130 ms
-- ctx
local list = {}
for i = 1, 100000 do list[i] = i end
local s, m = ctx.selector({ matchExpressions = list })
assert(s == nil and m:find('so many values'), m)
