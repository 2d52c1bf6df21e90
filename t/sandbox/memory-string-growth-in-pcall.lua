-- want: budget
-- within: 150 ms
while true do
  pcall(function()
    local s = 'x'
    while true do s = s .. s end
  end)
end
