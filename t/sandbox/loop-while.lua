-- want: budget
-- within: 130 ms
while true do end
