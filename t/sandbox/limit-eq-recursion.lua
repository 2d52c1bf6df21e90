-- want: error|memory
-- within: 130 ms
local mt = {}
mt.__eq = function(a, b) return a == b end
return setmetatable({}, mt) == setmetatable({}, mt)
