-- want: error range of over
-- within: 130 ms
table.move({}, 1, 1e9, 2)
