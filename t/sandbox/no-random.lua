-- want: error attempt to call a nil value (field 'random')
-- within: 130 ms
math.random()
