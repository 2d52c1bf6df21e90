-- want: error must return a string
-- within: 130 ms
tostring(setmetatable({}, { __tostring = function() return {} end }))
