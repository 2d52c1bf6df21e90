-- want: error __mode
-- within: 130 ms
setmetatable({}, { __mode = 'k' })
