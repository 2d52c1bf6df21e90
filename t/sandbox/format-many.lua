-- want: error conversions
-- within: 130 ms
('%d'):rep(1000):format()
