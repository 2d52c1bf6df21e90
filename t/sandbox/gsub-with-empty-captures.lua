-- want: budget
-- within: 130 ms
(('x'):rep(20000)):gsub('(y*)', ('%1'):rep(30000))
while true do end
