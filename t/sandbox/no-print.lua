-- want: error there is no 'print' here
-- within: 130 ms
return print
