-- want: ok
-- within: 130 ms
local t, seen = { a = 1, b = 2, c = 3, d = 4 }, ''
for k in pairs(t) do seen = seen .. k t[k] = nil t.c = nil end
assert(seen == 'abd' and next(t) == nil, seen)
t = { 1, 2, 3 }
for i in pairs(t) do t[i] = nil end
assert(next(t) == nil)
for i = 1, 500 do t['k' .. i] = i end
for k in next, t do t[k] = nil end
assert(next(t) == nil)
