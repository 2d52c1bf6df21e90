-- want: ok
-- within: 130 ms
local s = ('word  '):rep(10000)
local t, n = s:gsub('%s+', ' ')
assert(n == 10000 and #t == 50000)
