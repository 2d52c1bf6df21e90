-- want: budget
-- within: 130 ms
-- ctx
while true do ctx.time.next('22:00', 'UTC') end
