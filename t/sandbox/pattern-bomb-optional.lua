-- want: error too many steps
-- within: 130 ms
local n = 28
(('a'):rep(n)):find(('a?'):rep(n) .. ('a'):rep(n))
