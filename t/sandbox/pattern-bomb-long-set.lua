-- want: error too many steps
-- within: 130 ms
local set = '[' .. ('b'):rep(60000) .. ']'
local s = ('a'):rep(60000)
s:find(set)
