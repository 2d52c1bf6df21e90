-- want: error
-- within: 130 ms
('a'):find(('('):rep(500) .. 'a' .. (')'):rep(500))
