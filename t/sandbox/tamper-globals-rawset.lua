-- want: error read-only
-- within: 130 ms
rawset(_ENV, 'pairs', 1)
