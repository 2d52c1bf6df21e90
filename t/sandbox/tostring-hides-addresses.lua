-- want: ok
-- within: 130 ms
assert(tostring({}) == 'table' and tostring(pairs) == 'function' and tostring(nil) == 'nil')
assert(tostring(12) == '12' and tostring(1.0) == '1.0' and tostring(true) == 'true')
assert(tostring(setmetatable({}, { __name = 'thing' })) == 'thing')
assert(tostring(setmetatable({}, { __name = 5 })) == 'table')
assert(('%s|%5s|%d|%q'):format(setmetatable({}, { __name = 5 }), 'x', 3, 'q') == 'table|    x|3|"q"')
