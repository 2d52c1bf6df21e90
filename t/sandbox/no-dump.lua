-- want: error attempt to call a nil value (field 'dump')
-- within: 130 ms
string.dump(function() end)
