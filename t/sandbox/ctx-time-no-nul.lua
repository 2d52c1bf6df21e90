-- want: error NUL
-- within: 130 ms
-- ctx
ctx.time.now('UTC\0../../x')
