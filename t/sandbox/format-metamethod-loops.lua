-- want: budget
-- within: 130 ms
('%s'):format(setmetatable({}, { __tostring = function() while true do end end }))
