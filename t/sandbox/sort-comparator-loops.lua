-- want: budget
-- within: 130 ms
table.sort({ 3, 2, 1 }, function() while true do end end)
