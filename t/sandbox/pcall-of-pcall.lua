-- want: budget
-- within: 130 ms
while true do pcall(pcall, pcall, function() while true do end end) end
