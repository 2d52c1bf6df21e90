-- want: error over 65536 bytes
-- within: 130 ms
local s, t = ('a'):rep(60000), {}
for i = 1, 1000 do t[i] = '' end
table.concat(t, s)
