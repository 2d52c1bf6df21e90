-- want: error
-- within: 130 ms
table.move({}, 1, 10, math.maxinteger - 2)
