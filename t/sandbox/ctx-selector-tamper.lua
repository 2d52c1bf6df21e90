-- want: error
-- within: 130 ms
-- ctx
local s = ctx.selector({})
s.matches = function() return true end
