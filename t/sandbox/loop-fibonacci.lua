-- want: budget
-- within: 130 ms
local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end
return fib(60)
