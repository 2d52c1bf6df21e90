-- want: ok
-- within: 130 ms
local ok, e = xpcall(error, function() error({}) end, 'x')
assert(ok == false and type(e) == 'table')
