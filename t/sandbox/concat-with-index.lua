-- want: error
-- within: 130 ms
table.concat(setmetatable({}, { __index = rawlen, __len = function() return 1e9 end }), '', 1, 1e9)
