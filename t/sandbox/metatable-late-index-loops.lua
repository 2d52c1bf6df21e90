-- want: budget|error C stack overflow
-- within: 130 ms
local mt = {}
local t = setmetatable({}, mt)
mt.__index = t
while true do pcall(function() return t.x end) end
