-- want: error non-string error
-- within: 130 ms
error(setmetatable({}, { __tostring = function() while true do end end }))
