-- want: memory|budget|error stack overflow
-- within: 130 ms
local function f() return 1 + f() end
f()
