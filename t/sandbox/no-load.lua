-- want: error there is no 'load' here
-- within: 130 ms
return load
