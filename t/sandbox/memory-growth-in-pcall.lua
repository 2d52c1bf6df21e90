-- want: budget
-- within: 150 ms
while true do
  pcall(function()
    local t = {}
    while true do t[#t + 1] = 'x' .. #t end
  end)
end
