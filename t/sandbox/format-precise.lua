-- want: ok
-- within: 130 ms
assert(#('%99.99f'):format(1e308) > 400)
