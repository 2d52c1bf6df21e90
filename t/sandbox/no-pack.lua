-- want: error attempt to call a nil value (field 'pack')
-- within: 130 ms
string.pack('c1000000000', 'x')
