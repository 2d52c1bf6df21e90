-- want: ok
-- within: 130 ms
local _ENV = {}
x = 1
return x
