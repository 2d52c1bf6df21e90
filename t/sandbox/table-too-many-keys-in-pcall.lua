-- want: budget
-- within: 130 ms
while true do pcall(function()
  local t = {}
  for i = 1, 1e9 do t['k' .. i] = true end
end) end
