-- want: error too long
-- within: 130 ms
-- ctx
ctx.time.now(('x'):rep(65536) .. 'x')
