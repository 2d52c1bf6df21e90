-- want: budget
-- within: 130 ms
for i = 1, math.maxinteger do end
