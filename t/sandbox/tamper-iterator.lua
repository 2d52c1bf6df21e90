-- want: ok
-- within: 130 ms
local f = pairs({ 1, 2, 3 })
assert(not pcall(f) and not pcall(f, 1) and f({}) == nil)
