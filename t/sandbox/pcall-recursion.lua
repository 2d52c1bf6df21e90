-- want: budget
-- within: 130 ms
local function f() pcall(f) pcall(f) end
while true do f() end
