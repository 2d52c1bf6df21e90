-- want: budget
-- within: 130 ms
-- ctx
while true do ctx.selector({ matchLabels = { a = 'b' } }) end
