-- want: ok
-- within: 130 ms
assert(('%s %s'):format({}, pairs) == 'table function')
