-- want: ok
-- within: 130 ms
-- ctx
local t = setmetatable({}, { __len = function() return 1e9 end, __index = function() return 'x' end,
  __pairs = function() while true do end end })
assert(ctx.selector(t):matches({}))
assert(not ctx.selector({ matchLabels = { a = 'x' } }):matches(t))
