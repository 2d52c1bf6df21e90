-- want: budget
-- within: 130 ms
while true do
  local x <close> = setmetatable({}, { __close = function() end })
end
