-- want: error too many steps
-- within: 130 ms
local s = ("a"):rep(60000)
s:find('.-.-.-b')
