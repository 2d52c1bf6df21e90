-- want: error
-- within: 130 ms
return ('x'):wrap(1)
