-- want: ok
-- within: 130 ms
assert((''):rep(math.maxinteger) == '')
