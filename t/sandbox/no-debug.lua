-- want: error there is no 'debug' here
-- within: 130 ms
return debug
