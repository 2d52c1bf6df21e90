-- want: error there is no 'require' here
-- within: 130 ms
return require
