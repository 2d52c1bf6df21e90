-- want: error
-- within: 130 ms
local function f(x) return (x:gsub('.', f)) end
f('aaa')
