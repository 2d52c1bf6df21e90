-- want: budget
-- within: 130 ms
for i = 1, math.huge do end
