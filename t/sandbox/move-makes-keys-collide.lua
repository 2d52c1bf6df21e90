-- want: budget
-- within: 160 ms
local t, m = {}, 4095 * 8191
for i = 1, 4000 do t[-i * m] = true end
local from = {}
for i = 1, 100000 do from[i] = i % 2 == 0 and i or false end
for i = 1, 100000, 2 do from[i] = nil end
while true do
  for i = 1, 90 do t[999999999 + i] = true end
  table.move(from, 1, 90, 1000000000, t)
  table.move(from, 2, 90, 1000000000, t)
end
