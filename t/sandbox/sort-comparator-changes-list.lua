-- want: ok
-- within: 130 ms
local t = { 5, 4, 3, 2, 1 }
table.sort(t, function(a, b) t[#t + 1] = 0 return a < b end)
assert(t[1] == 1 and t[5] == 5)
