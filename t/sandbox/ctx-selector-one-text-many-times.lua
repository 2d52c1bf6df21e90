-- want: ok
-- within: 130 ms
-- ctx
local text, list = ('x'):rep(60000), {}
for i = 1, 1900 do list[i] = text end
local s, m = ctx.selector({ matchExpressions = list })
assert(s == nil and m:find('so much text'), m)
