-- want: error range of over
-- within: 130 ms
table.unpack({}, 1, 1e7)
