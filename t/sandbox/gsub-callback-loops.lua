-- want: budget
-- within: 130 ms
('abc'):gsub('.', function() while true do end end)
