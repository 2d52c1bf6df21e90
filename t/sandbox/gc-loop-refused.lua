-- want: error __gc
-- within: 130 ms
setmetatable({}, { __gc = function() while true do end end })
