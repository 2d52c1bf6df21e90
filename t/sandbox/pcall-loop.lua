-- want: budget
-- within: 130 ms
while true do pcall(function() while true do end end) end
