-- want: error
-- within: 130 ms
('%999d'):format(1)
