-- want: ok
-- within: 130 ms
local t = { [math.maxinteger] = 1, [2^63] = 2, [-2^53] = 3, [math.mininteger] = 4, [0.5] = 5, [-0.5] = 6,
  [0] = 7, [math.huge] = 8, [-math.huge] = 9, [-2^70] = 10 }
local s = ''
for _, v in pairs(t) do s = s .. v .. ' ' end
assert(s == '9 10 4 3 6 7 5 1 2 8 ', s)
