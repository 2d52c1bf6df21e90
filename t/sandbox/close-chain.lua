-- want: budget
-- within: 130 ms
local mt = { __close = function() while true do end end }
local function chain(n)
  local x <close> = setmetatable({}, mt)
  if n > 0 then return (chain(n - 1)) end
  while true do end
end
chain(100)
