-- want: ok
-- within: 130 ms
local t, n = {}, 0
for i = 1, 4096 do t['k' .. i] = i end
for i = 1, 100000 do t[i] = i end
for _ in pairs(t) do n = n + 1 end
assert(n == 104096)
local list = table.pack(table.unpack(t, 1, 6144))
assert(list.n == 6144 and #list == 6144)
