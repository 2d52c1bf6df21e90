-- want: budget
-- within: 130 ms
local mt = { __close = function() pcall(function() while true do end end) end }
while true do
  pcall(function()
    local x <close> = setmetatable({}, mt)
    while true do end
  end)
end
