-- want: error read-only
-- within: 130 ms
string.upper = function() return 'x' end
