-- want: error attempt to call a table value
-- within: 130 ms
local mt = {}
local t = setmetatable({}, mt)
mt.__call = t
t(1)
