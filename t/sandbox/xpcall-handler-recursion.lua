-- want: ok
-- within: 130 ms
local depth = 0
local function handler(e) depth = depth + 1 return e .. '!' end
local ok, e = xpcall(function() error('deep', 0) end, handler)
assert(not ok and e == 'deep!' and depth == 1)
local ok, a, b = xpcall(function(...) return ... end, handler, 1, nil)
assert(ok and a == 1 and b == nil)
