-- want: error __call: a function is wanted, this is a table
-- within: 130 ms
local mt = {}
local t = setmetatable({}, mt)
mt.__call = t
pcall(t)
setmetatable(t, mt)
