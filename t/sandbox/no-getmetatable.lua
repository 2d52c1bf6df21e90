-- want: error there is no 'getmetatable' here
-- within: 130 ms
return getmetatable
