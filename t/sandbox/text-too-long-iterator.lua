-- want: error over 65536 bytes
-- within: 130 ms
local s = ('\x80'):rep(60000)
local f = utf8.codes('x')
f(s .. s, 1)
