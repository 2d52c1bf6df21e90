-- want: ok
-- within: 130 ms
-- A long format is made in pieces; what comes out is the same.
local list, wanted = {}, {}
for i = 1, 47 do
  list[i] = i
  wanted[i] = i .. "%"
end
assert(string.format(("%d%%,"):rep(47), table.unpack(list)) == table.concat(wanted, ",") .. ",")
assert(string.format(("%s"):rep(20), table.unpack(list, 1, 20)) == table.concat(list, "", 1, 20))
local tail = string.format(("%s"):rep(20) .. "end", table.unpack(list))
assert(tail == table.concat(list, "", 1, 20) .. "end")
assert(string.format("plain") == "plain" and string.format("") == "")
local ok, why = pcall(string.format, ("%d"):rep(25), table.unpack(list, 1, 22))
assert(not ok and why:find("no value", 1, true))
ok, why = pcall(string.format, ("%d"):rep(25), table.unpack(list, 1, 10))
assert(not ok and why:find("#12", 1, true))
ok = pcall(string.format, ("%s"):rep(201), table.unpack(list))
assert(not ok)
