-- want: budget
-- within: 130 ms
while true do math.abs(-1) end
