-- want: ok
-- within: 130 ms
local function f(n) return pcall(f, n + 1) end
f(1)
