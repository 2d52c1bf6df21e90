-- want: error __call: a function is wanted, this is a table
-- within: 130 ms
local f = setmetatable({}, { __call = function() end })
f(1, 2)
setmetatable({}, { __call = f })
