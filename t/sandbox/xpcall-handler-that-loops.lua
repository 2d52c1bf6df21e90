-- want: budget
-- within: 130 ms
xpcall(function() error('x') end, function() while true do end end)
