-- want: error
-- within: 130 ms
setmetatable('', {})
