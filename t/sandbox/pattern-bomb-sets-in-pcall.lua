-- want: budget
-- within: 130 ms
local set = '[' .. ('b'):rep(60000) .. ']'
local s = ('a'):rep(60000)
while true do pcall(s.find, s, set) end
