-- want: ok
-- within: 130 ms
local t = { 3, 1, 2 }
table.sort(t)
assert(table.concat(t, ',') == '1,2,3')
table.sort(t, function(a, b) return a > b end)
assert(table.concat(t, ',', 2, 3) == '2,1')
table.insert(t, 4) table.insert(t, 1, 0)
assert(table.concat(t) == '03214')
assert(table.remove(t) == 4 and table.remove(t, 1) == 0 and #t == 3)
assert(table.remove({}) == nil)
assert(table.concat(table.move({ 1, 2, 3 }, 1, 3, 2), ',') == '1,1,2,3')
assert(table.concat(table.move({ 1, 2, 3 }, 2, 3, 1), ',') == '2,3,3')
assert(table.concat(table.move({ 1, 2 }, 1, 2, 2, { 9 }), ',') == '9,1,2')
assert(select('#', table.unpack({ 1, nil, 3 }, 1, 3)) == 3)
local p = table.pack(1, nil, nil)
assert(p.n == 3 and p[1] == 1)
local r = {}
for i = 1, 100 do r[i] = { key = i % 3, at = i } end
table.sort(r, function(a, b) return a.key < b.key end)
for i = 2, 100 do assert(r[i - 1].key < r[i].key or r[i - 1].at < r[i].at) end
assert('10' + 1 == 11 and ('ab'):rep(3, '-') == 'ab-ab-ab')
for p, code in utf8.codes('aä') do assert(p == 1 and code == 97 or p == 2 and code == 228) end
