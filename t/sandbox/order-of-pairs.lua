-- want: ok
-- within: 130 ms
local t = { 'a', 'b', z = 1, y = 2, [true] = 3, [false] = 4, [1.5] = 5, [-1] = 6, [10] = 7, ['1'] = 8 }
local function walk(f) local s = '' for k in f(t) do s = s .. tostring(k) .. ' ' end return s end
local want = '-1 1 1.5 2 10 1 y z false true '
assert(walk(pairs) == want, walk(pairs))
assert(walk(function(x) return next, x end) == want)
