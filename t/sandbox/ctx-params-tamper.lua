-- want: error read-only
-- within: 130 ms
-- ctx
ctx.params.x = 1
