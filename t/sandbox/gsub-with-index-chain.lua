-- want: budget
-- within: 130 ms
local t = {}
for i = 1, 1900 do t = setmetatable({}, { __index = t }) end
while true do (('x'):rep(60000)):gsub('.', t) end
