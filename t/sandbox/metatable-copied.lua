-- want: ok
-- within: 130 ms
-- What a metatable says when it is set counts; only __index may come later.
local mt = { __add = function() return 1 end }
local a = setmetatable({}, mt)
mt.__add = function() return 2 end
mt.__sub = function() return 3 end
assert(a + a == 1 and not pcall(function() return a - a end))
local b = setmetatable({}, mt)
assert(b + b == 2 and b - b == 3 and a + b == 1)
mt.__index = { x = 4 }
assert(a.x == 4 and b.x == 4 and a.y == nil)
mt.__index = function(_, k) return k end
assert(a.x == 'x' and setmetatable({}, mt).x == 'x')
mt.__index = nil
assert(a.x == nil)

-- As the book has it: the class gets its __index when the first object is there.
local Account = { balance = 0 }
function Account:new(o)
  o = o or {}
  setmetatable(o, self)
  self.__index = self
  return o
end
function Account:add(n) self.balance = self.balance + n end
local Special = Account:new()
local s = Special:new({ limit = 5 })
s:add(3)
assert(s.balance == 3 and Account.balance == 0)
