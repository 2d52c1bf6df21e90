-- want: memory|budget|error
-- within: 130 ms
local function f(...) return f(1, 2, 3, 4, 5, 6, 7, 8, ...) end
f()
