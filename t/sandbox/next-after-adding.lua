-- want: ok
-- within: 130 ms
local t = { a = 1, c = 2 }
assert(next(t) == 'a' and next(t, 'a') == 'c')
t.d = 3
assert(next(t, 'c') == 'd' and next(t, 'd') == nil)
t.b = 4
assert(next(t, 'a') == 'b')
assert(next(t, 'aa') == 'b')
assert(next(t, 1) == 'a')
