-- want: error
-- within: 130 ms
local s = ('a'):rep(60000)
s:find(('a?'):rep(20000))
