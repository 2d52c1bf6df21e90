-- want: error there is no 'warn' here
-- within: 130 ms
return warn
