-- want: budget
-- within: 130 ms
-- Keys that fall into one chain whatever the size: each new one makes Lua go through all
-- of them.
local t, m = {}, 4095 * 8191
for i = 1, 4096 do t[i * m] = true end
local i = 1
while true do t[i * m] = nil i = i + 1 t[(i + 4095) * m] = true end
