-- want: error over 65536 bytes
-- within: 130 ms
local s = ('a'):rep(60000)
s:gsub('a', s)
