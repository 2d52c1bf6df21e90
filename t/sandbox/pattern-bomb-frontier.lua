-- want: budget
-- within: 130 ms
local s = ('a '):rep(30000)
while true do s:gsub('%f[%w]', '') end
