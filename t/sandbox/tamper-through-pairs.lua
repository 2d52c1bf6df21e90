-- want: ok
-- within: 130 ms
local f, state = pairs(string)
assert(state == string and not pcall(rawset, state, 'upper', 1))
local up = string.upper
for k, v in pairs(string) do assert(k ~= 'dump') end
assert(string.upper == up and ('a'):upper() == 'A')
