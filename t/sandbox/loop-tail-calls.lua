-- want: budget
-- within: 130 ms
local function f() return f() end
f()
