-- want: ok
-- within: 130 ms
local t = setmetatable({}, { __len = function() return 1e9 end })
table.insert(t, 'a')
assert(rawlen(t) == 1)
assert(not pcall(table.insert, t, 1e8, 'b'))
