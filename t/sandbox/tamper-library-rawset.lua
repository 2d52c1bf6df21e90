-- want: error read-only
-- within: 130 ms
rawset(string, 'upper', 1)
