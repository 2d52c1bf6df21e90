-- want: budget
-- within: 130 ms
xpcall(function() while true do end end, function() while true do end end)
