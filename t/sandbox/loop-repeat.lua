-- want: budget
-- within: 130 ms
repeat until false
