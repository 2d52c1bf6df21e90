-- want: budget
-- within: 130 ms
local ok = pcall(function() while true do end end)
return ok
