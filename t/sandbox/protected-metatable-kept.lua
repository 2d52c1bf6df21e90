-- want: error protected metatable
-- within: 130 ms
local t = setmetatable({}, { __metatable = 'mine' })
setmetatable(t, {})
