-- want: error __gc
-- within: 130 ms
local mt = setmetatable({}, { __index = { __gc = 1 } })
setmetatable({}, mt)
mt.__gc = true
setmetatable({}, mt)
