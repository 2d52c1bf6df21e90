-- want: budget
-- within: 130 ms
return pcall(function() while true do end end)
