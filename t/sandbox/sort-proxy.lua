-- want: ok
-- within: 130 ms
local t = setmetatable({}, { __index = rawget, __newindex = rawset, __len = function() return 1e9 end })
table.sort(t)
