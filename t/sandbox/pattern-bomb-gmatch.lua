-- want: error too many steps
-- within: 130 ms
local s = ("a"):rep(60000)
for _ in s:gmatch('.-.-.-b') do end
