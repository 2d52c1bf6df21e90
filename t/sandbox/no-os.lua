-- want: error there is no 'os' here
-- within: 130 ms
return os
