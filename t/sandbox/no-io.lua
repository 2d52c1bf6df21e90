-- want: error there is no 'io' here
-- within: 130 ms
return io
