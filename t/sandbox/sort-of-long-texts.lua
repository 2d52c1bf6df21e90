-- want: budget
-- within: 160 ms
-- Each comparison goes through 256 KiB of NUL bytes, piece by piece.
local s = ('\0'):rep(65536)
s = s .. s .. s
local a, b, t = s .. 'a', s .. 'b', {}
for i = 1, 50000 do t[i] = i % 2 == 0 and a or b end
table.sort(t)
