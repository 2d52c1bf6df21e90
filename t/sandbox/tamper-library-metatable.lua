-- want: error protected metatable
-- within: 130 ms
setmetatable(string, { __index = {} })
