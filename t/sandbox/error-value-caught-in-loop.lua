-- want: budget
-- within: 130 ms
while true do pcall(error, setmetatable({}, { __tostring = function() while true do end end })) end
