-- want: error
-- within: 130 ms
local t = {}
for i = 1, 3000 do t = setmetatable({}, { __index = t }) end
return t.x
