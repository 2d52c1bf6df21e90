-- want: error attempt to call a nil value (method 'dump')
-- within: 130 ms
('x'):dump()
