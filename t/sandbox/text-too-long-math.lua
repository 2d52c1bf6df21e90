-- want: error over 65536 bytes
-- within: 130 ms
local s = ('x'):rep(60000)
s = s .. s
math.floor(s)
