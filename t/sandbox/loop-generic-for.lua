-- want: budget
-- within: 130 ms
for _ in function() return 1 end do end
