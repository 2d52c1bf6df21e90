-- want: error there is no 'loadfile' here
-- within: 130 ms
return loadfile
