-- want: error over 65536 bytes
-- within: 130 ms
local s = ('x'):rep(math.maxinteger, ('y'):rep(1000))
