-- want: error read-only
-- within: 130 ms
-- ctx
ctx.time.now = function() return { hour = 3 } end
