-- want: budget
-- within: 130 ms
tostring(setmetatable({}, { __tostring = function() while true do end end }))
