-- want: budget|memory|error stack overflow
-- within: 130 ms
local t = setmetatable({}, { __call = function(self, ...) return self(1, ...) end })
t()
