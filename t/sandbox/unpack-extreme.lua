-- want: error range of over
-- within: 130 ms
table.unpack({}, math.mininteger, math.maxinteger)
