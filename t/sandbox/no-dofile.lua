-- want: error there is no 'dofile' here
-- within: 130 ms
return dofile
