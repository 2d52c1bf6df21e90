-- want: ok
-- within: 130 ms
local t = {}
for i = 1, 100 do t[i] = i end
table.sort(t, function() return true end)
assert(#t == 100)
