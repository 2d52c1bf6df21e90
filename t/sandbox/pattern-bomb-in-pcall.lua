-- want: budget
-- within: 130 ms
local s = ("a"):rep(60000)
while true do pcall(s.find, s, '.-.-.-b') end
