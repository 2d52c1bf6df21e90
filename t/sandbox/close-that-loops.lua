-- want: budget
-- within: 130 ms
do
  local x <close> = setmetatable({}, { __close = function() while true do end end })
end
