-- want: error protected metatable
-- within: 130 ms
setmetatable(_ENV, {})
