-- want: error NaN is no key
-- within: 130 ms
next({ 1, a = 2 }, 0 / 0)
