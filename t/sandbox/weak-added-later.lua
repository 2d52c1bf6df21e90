-- want: ok
-- within: 130 ms
local mt = {}
local w = setmetatable({}, mt)
mt.__mode = 'kv'
w[1] = {}
for i = 1, 20000 do local t = { i } end
assert(w[1])
