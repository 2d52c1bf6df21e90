-- want: ok
-- within: 130 ms
local mt = {}
setmetatable({}, mt)
mt.__gc = function() while true do end end
for i = 1, 10000 do local t = { i } end
