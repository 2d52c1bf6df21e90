-- want: ok
-- within: 130 ms
-- ctx
local t = {}
t.matchLabels = t
local s, m = ctx.selector(t)
assert(s == nil and m:find('levels'), m)
