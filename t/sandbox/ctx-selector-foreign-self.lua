-- want: error neap.Selector expected
-- within: 130 ms
-- ctx
local s = ctx.selector({})
s.matches(ctx.cpuset(), {})
