-- want: budget
-- within: 130 ms
('abc'):gsub('.', setmetatable({}, { __index = function() while true do end end }))
