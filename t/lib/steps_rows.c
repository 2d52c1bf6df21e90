/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/steps_rows.h"

#include "engine/base/base.h"

/* 4096 keys in one chain, in tables of every size. */
#define COLLIDE(t) "for i = 1, 4096 do " t "[i * 33542145] = true end "
/* 256 KiB of one character. */
#define LONG(c) "local s = ('" c "'):rep(65536) s = s .. s .. s .. ('" c "'):rep(65000) "
/* A list of 100,000 places, all empty. */
#define EMPTIED(t)                                                                       \
	"for i = 1, 100000 do " t "[i] = i end for i = 1, 100000 do " t "[i] = nil end "

const struct steps_value steps_values[] = {
	{"nil", "return nil"},
	{"number", "return 1.7976931348623157e308"},
	{"count", "return 65000"},
	{"64 KiB", "return ('x'):rep(65536)"},
	{"64 KiB of digits", "return ('9'):rep(65536)"},
	{"64 KiB of blanks and digits", "return (' '):rep(65000) .. ('0'):rep(500)"},
	{"64 KiB of NULs", "return ('\\0'):rep(65536)"},
	{"256 KiB of NULs", LONG("\\0") "return s .. 'a'"},
	{"256 KiB", LONG("x") "return s"},
	{"format", "return ('%99.99f'):rep(190)"},
	{"pattern", "return ('.-'):rep(30) .. 'y'"},
	{"empty captures", "return ('(y*)'):rep(30)"},
	{"captures again", "return ('%1'):rep(30000)"},
	{"list", "local t = {} for i = 1, 100000 do t[i] = i end return t"},
	{"list of long texts",
	 LONG("\\0") "local a, b, t = s .. 'a', s .. 'b', {} for i = 1, 50000 do t[i] = i "
		     "% 2 == 0 and a or b end return t"},
	{"list of floats",
	 "local t = {} for i = 1, 20000 do t[i] = i / 3e-300 end return t"},
	{"emptied list", "local t = {} " EMPTIED("t") "return t"},
	{"colliding keys", "local t = {} " COLLIDE("t") "return t"},
	{"colliding floats",
	 "local t = {} for i = 1, 4096 do t[(i + 0.5) * 2 ^ 40] = i end return t"},
	{"4096 names", "local t = {} for i = 1, 4096 do t['k' .. i] = i end return t"},
	{"long names",
	 "local t, s = {}, ('x'):rep(65000) for i = 1, 55 do t[s .. i] = i end return t"},
	{"chain of __index",
	 "local t = {} for i = 1, 1900 do t = setmetatable({}, { __index = t }) end return t"},
	{"loop of __index on colliding keys",
	 "local t, mt = {}, {} " COLLIDE(
		 "t") "mt.__index = t return setmetatable(t, mt)"},
	{"chain of __newindex",
	 "local t = {} for i = 1, 1900 do t = setmetatable({}, { __newindex = t }) end "
	 "return t"},
	{"nested", "local t = {} for i = 1, 30000 do t = { t } end return t"},
	{"many tables", "local t = {} for i = 1, 25000 do t[i] = { i } end return t"},
	{"function", "return function(...) return ... end"},
	{"C function", "return string.rep"},
	{"library", "return string"},
};
const size_t steps_value_count = NEAP_ARRAY_LEN(steps_values);

const char *const steps_more[] = {
	"ctx.cpuset",
	"ctx.selector",
	"ctx.log",
	"ctx.quantity.milli",
	"ctx.quantity.bytes",
	"ctx.time.next",
	"ctx.time.now",
	"ctx.time.is_between",
	"local s = ctx.cpuset('0-8191') s:has(65000) s:first(8000) s:list() r = tostring(s), s + s, "
	"s - s, ctx.cpuset",
	"ctx.selector({ matchLabels = { a = 'b' } }):matches",
	"r = (function(...) return select('#', ...) end)(table.unpack(a, 1, 8000)), select",
	NULL,
};

const char *const steps_thirds[] = {
	"",          "",       "", ", 1", ", b, a", ", 1, 100000", ", 100000, 2, {}",
	", a, b, b", ", '%1'",
};
const size_t steps_third_count = NEAP_ARRAY_LEN(steps_thirds);

const char *const steps_operators[] = {
	"r = a + b",
	"r = a .. b",
	"r = a .. b .. a .. b .. a .. b .. a .. b",
	"r = a < b",
	"r = a <= a",
	"r = a == b",
	"r = #a",
	"r = -a",
	"r = a % b",
	"r = a // b",
	"r = a & b",
	"r = a[b]",
	"a[b] = b",
	"local t = {} t[a] = 1 t[b] = 2",
	"for i = a, b do end",
	"for k in pairs(a) do end",
	"for k in next, a do end",
	"for i, v in ipairs(a) do end",
	"local t = { table.unpack(a, 1, 8000) } r = #t",
	"local function f(...) return f(1, ...) end f(table.unpack(a, 1, 8000))",
	"local function f(...) return 1 + f(...) end f(table.unpack(a, 1, 8000))",
	"local function f() return a .. f() end f()",
	"error(a)",
};
const size_t steps_operator_count = NEAP_ARRAY_LEN(steps_operators);

/* Of an object o with a metamethod. */
const char *const steps_uses[] = {
	"r = o + a",
	"r = o .. a",
	"r = a .. o",
	"r = #o",
	"r = o < o",
	"r = o <= a",
	"r = o == setmetatable({}, { __eq = a })",
	"r = o(a, b)",
	"r = o[a]",
	"o[a] = b",
	"for k in pairs(o) do end",
	"for k in o, a, b do end",
	"r = tostring(o)",
	"r = ('%s %s'):format(o, a)",
	"r = ('x'):rep(60000):gsub('.', o)",
	"local t = {} for i = 1, 2000 do t[i] = o end table.sort(t)",
	"local t = { o, o, o } table.sort(t, o)",
	"local x <close> = o",
	"local x <close> = o error(a)",
	"r = -o",
	"r = o & a",
	"r = o:x(a)",
	"local function f() local x <close> = o return 1 + f() end f()",
};
const size_t steps_use_count = NEAP_ARRAY_LEN(steps_uses);

const char *const steps_events[] = {
	"__index", "__newindex", "__call",   "__tostring", "__name", "__metatable",
	"__pairs", "__close",    "__len",    "__eq",       "__lt",   "__le",
	"__unm",   "__add",      "__concat", "__band",
};
const size_t steps_event_count = NEAP_ARRAY_LEN(steps_events);

const char *const steps_handlers[] = {
	"a",
	"function() return a end",
	"function(...) return table.unpack(a) end",
	"function(x, ...) return x(...) end",
	"function(x, y) return x[y] end",
	"string.rep",
	"table.sort",
	"table.concat",
	"pairs",
	"next",
	"table.unpack",
	"rawset",
	"rawget",
	"error",
	"pcall",
	"select",
	"tostring",
	"setmetatable",
};
const size_t steps_handler_count = NEAP_ARRAY_LEN(steps_handlers);

const char *const steps_bodies[] = {
	"local mt = {} local t = setmetatable({}, mt) mt.__call = t t(1)",
	"local t for i = 1, 30000 do t = setmetatable({}, { __call = t or function() end }) end t()",
	"local t = setmetatable({}, { __call = function(s, ...) return s(1, ...) end }) t()",
	"local t = {} for i = 1, 40000 do t[i * 65535] = true end",
	"local t = {} while true do " COLLIDE(
		"t") "for i = 1, 4096 do t[i * 33542145] = nil end end",
	"local t, i = {}, 1 " COLLIDE(
		"t") "| while true do t[i * 33542145] = nil i = i + 1 t[(i + 4095) * 33542145] = true end",
	"local t = {} while true do local u = {} " COLLIDE("u") "t[#t + 1] = u end",
	"local t = {} " COLLIDE(
		"t") "while true do local k repeat k = next(t, k) until not k end",
	"local t = {} " COLLIDE(
		"t") "while true do for k in pairs(t) do t[k] = k end end",
	"local all = {} for j = 1, 30 do local t = {} for i = 1, 2048 do t[i * 33542145 * 4097] = j end "
	"all[j] = t end | while true do for j = 1, 30 do for k in pairs(all[j]) do end end end",
	"local keys, order, s = {}, {}, 1 for i = 1, 8000 do keys[i] = {} order[i] = i end "
	"for i = 8000, 2, -1 do s = (s * 1103515245 + 12345) % 2147483648 local r = s // 7 % i + 1 "
	"order[i], order[r] = order[r], order[i] end local w = setmetatable({}, { __mode = 'k' }) "
	"for i = 1, 4000 do w[keys[order[i]]] = keys[order[i + 1]] end | "
	"while true do local x = {} end",
	"local t = {} for i = 1, 60 do t[i] = ('x'):rep(65000) .. i end "
	"while true do local u = {} for i = 1, 60 do u[t[i]] = 1 end for k in pairs(u) do end end",
	"local t, n = {}, 0 while true do pcall(function() while true do n = n + 1 t[n] = {} end end) "
	"t, n = {}, 0 end",
	"local t, n = {}, 0 while true do pcall(function() while true do n = n + 1 t[n] = '' .. n end "
	"end) end",
	"local function f(n) local a, b, c, d, e = n, n, n, n, n return 1 + f(n + 1) end "
	"while true do pcall(f, 1) end",
	"local function f(...) return f(1, 2, 3, 4, 5, 6, 7, 8, ...) end while true do pcall(f) end",
	"local function f(...) local n = select('#', ...) return f(n, ...) end while true do pcall(f) "
	"end",
	"local t = {} for i = 1, 8000 do t[i] = i end local function f(...) return 1 + f(...) end "
	"while true do pcall(f, table.unpack(t)) end",
	"local f = function() end for i = 1, 20000 do local g = f f = function() return g() end end "
	"while true do f() end",
	"local t = {} for i = 1, 15000 do t[i] = function() return t, i end end "
	"while true do local x = { t } end",
	"local function f() local x <close> = setmetatable({}, { __close = function() while true do end "
	"end }) return 1 + f() end while true do pcall(f) end",
	"local s = ('(y*)'):rep(31) while true do ('x'):rep(60000):gsub(s, ('%9'):rep(30000)) end",
	"while true do ('x'):rep(65536):find(('x'):rep(255) .. 'y', 1, true) end",
	"local s = ('x'):rep(65535) while true do s:gsub('()', { }) s:gsub('.', '%0%0') end",
	"while true do tonumber(('9'):rep(65536)) tonumber('0x' .. ('f'):rep(65000)) "
	"tonumber(('9'):rep(60000) .. 'e-60000') tonumber('.' .. ('0'):rep(60000) .. '1') end",
	"while true do ('%.99f'):rep(190):format(table.unpack((function() local t = {} for i = 1, 190 do "
	"t[i] = 1e308 end return t end)())) end",
	"local x, y = 1e308, 3e-308 while true do x = 1e308 % y y = y + 1e-323 x = math.fmod(1e308, y) end",
	"local t = {} for i = 1, 4000 do t[i] = {} next(t[i], nil) t[i].a = 1 next(t[i], 'a') end "
	"while true do local x = {} end",
	"local t = {} for i = 100000, 1, -1 do t[i] = i end",
	"local t = { n = 1 } for i = 1, 100000 do t[i] = i end for i = 99999, 2, -1 do t[i] = nil end "
	"while true do local n = #t t[n + 1] = 1 t[n + 1] = nil rawlen(t) end",
};
const size_t steps_body_count = NEAP_ARRAY_LEN(steps_bodies);

#define LOCALS_8(p) p "1," p "2," p "3," p "4," p "5," p "6," p "7," p "8,"
#define LOCALS_64(p)                                                                     \
	LOCALS_8(p "a")                                                                  \
	LOCALS_8(p "b")                                                                  \
	LOCALS_8(p "c")                                                                  \
	LOCALS_8(p "d") LOCALS_8(p "e") LOCALS_8(p "f") LOCALS_8(p "g") LOCALS_8(p "h")
#define FUNCTION                                                                         \
	"local function f() local " LOCALS_64("x") LOCALS_64("y") LOCALS_64("z") "w "

const struct steps_source steps_sources[] = {
	{"while x do ", "break ", " end", 1 << 20},
	{"do ", "goto a ", " ::a:: end", 1 << 20},
	{"", "::a%d:: ", "", 1 << 20},
	{"", "goto a%d ", "", 1 << 20},
	{"while x do ", "break ", " end", 1900},
	{"do ", "goto a%d ", "::a1:: end", 1900},
	{"", "::a%d:: ", "", 900},
	{"", "do goto a%d ::a%d:: end ", "", 900},
	{"local x = a ", "and a ", "", 1 << 20},
	{"local x = a ", "or a ", "", 1 << 20},
	{"local x = a ", "and b or c ", "", 1 << 20},
	{"local x = a ", ".. a ", "", 1 << 20},
	{"local x = a ", "+ a ", "", 1 << 20},
	{"local x = ", "-", "1", 1 << 20},
	{"local x = ", "not ", "1", 1 << 20},
	{"local x = ", "(", "", 1 << 20},
	{"local x = ", "{", "", 1 << 20},
	{"if a then ", "elseif a then ", " end", 1 << 20},
	{"local t = {", "%d,", "}", 1 << 20},
	{"local t = {", "%d.5,", "}", 1 << 20},
	{"local t = {", "[%d] = %d,", "}", 1 << 20},
	{"local t = {", "k%d = %d,", "}", 1 << 20},
	{"local t = {", "0x1ffd001 * %d,", "}", 1 << 20},
	{"local t = {", "%d0000000000,", "}", 1 << 20},
	{"local t = {", "'%d',", "}", 1 << 20},
	{"local t = {", "a,", "}", 1 << 20},
	{"x = '", "x", "'", 1 << 20},
	{"x = '", "\\u{7fffffff}", "'", 1 << 20},
	{"x = [[", "x\n", "]]", 1 << 20},
	{"x = [", "=", "[", 1 << 20},
	{"--", "x", "", 1 << 20},
	{"x = ", "9", "", 1 << 20},
	{"x = 0x", "f", ".8p-9", 1 << 20},
	{"x = .", "0", "1", 1 << 20},
	{"", "\n", "x", 1 << 20},
	{"", ";", "", 1 << 20},
	{"", "x=y ", "", 1 << 20},
	{"", "x()", "", 1 << 20},
	{"", "local a = %d ", "", 190},
	{"", "local function f() end ", "", 190},
	{"", "x = function() end ", "", 1 << 20},
	{"x = ", "function() return ", "", 150},
	{FUNCTION, "u = v ", " end", 1 << 20},
	{FUNCTION FUNCTION FUNCTION FUNCTION FUNCTION FUNCTION FUNCTION FUNCTION FUNCTION
		 FUNCTION FUNCTION FUNCTION FUNCTION FUNCTION FUNCTION FUNCTION FUNCTION
			 FUNCTION FUNCTION FUNCTION FUNCTION FUNCTION FUNCTION FUNCTION
				 FUNCTION FUNCTION FUNCTION FUNCTION FUNCTION FUNCTION
					 FUNCTION FUNCTION FUNCTION FUNCTION FUNCTION
						 FUNCTION FUNCTION FUNCTION FUNCTION
							 FUNCTION,
	 "u=v ", "", 1 << 20},
	{"", "do ", "", 190},
	{"", "for i = 1, 2 do ", "", 190},
	{"", "local x%d <close> = nil ", "", 190},
	{"", "repeat local a until a ", "", 1 << 20},
	{"a", "[a]", "= 1", 1 << 20},
	{"a", ".a", "= 1", 1 << 20},
	{"a", "()", "", 1 << 20},
	{"a", ",a", "= 1", 1 << 20},
	{"return a", ",a", "", 1 << 20},
	{"a(b", ",b", ")", 1 << 20},
};
const size_t steps_source_count = NEAP_ARRAY_LEN(steps_sources);

#define WISH "target = 'besteffort', key = 'cpu.max_milli', value = 1000, why = 'w'"

const struct steps_pair steps_results[] = {
	{"local t = {} " COLLIDE("t"), "return t"},
	{"local t = { " WISH
	 " } " EMPTIED("t") "local r = {} for i = 1, 4096 do r[i] = t end",
	 "return r"},
	{"local t = { " WISH " } local r = {} for i = 1, 4096 do r[i] = t end",
	 "return r"},
	{"local t = { " WISH
	 " } t.value = '0-8191' t.key = 'cpuset.cpus' local r = {} for i = 1, 4096 "
	 "do r[i] = t end",
	 "return r"},
	{"local t = { " WISH
	 " } t.why = ('w'):rep(65000) local r = {} for i = 1, 4096 do r[i] = t end",
	 "return r"},
	{"local e = {} " EMPTIED("e") "local m = {} for i = 1, 4000 do m[i] = e end",
	 "ctx.memo.m = m return {}"},
	{"local e = {} " COLLIDE("e"), "ctx.memo.m = e return {}"},
	{"local m = {} for i = 1, 4000 do m[i] = {} end", "ctx.memo.m = m return {}"},
	{"local m = ('x'):rep(65000)",
	 "for i = 1, 4000 do ctx.memo[i] = m end return {}"},
};
const size_t steps_result_count = NEAP_ARRAY_LEN(steps_results);

const struct steps_pair steps_examples[] = {
	{"local t = { id = 'a' } " EMPTIED(
		 "t") "local w = {} for i = 1, 4096 do w[i] = t end",
	 ", examples = { { name = 'e', node = { workloads = w }, want = {} } }"},
	{"local t = {} " COLLIDE("t"),
	 ", examples = { { name = 'e', node = t, want = {} } }"},
	{"local w = {} for i = 1, 4096 do w[i] = { id = 'a' .. i } end",
	 ", needs = { 'workloads' }, examples = { { name = 'e', node = { workloads = w }, want = {} } }"},
	{"local w = {} for i = 1, 8192 do w[i] = { i - 1, i, i, i } end",
	 ", needs = { 'topology' }, examples = { { name = 'e', node = { topology = w }, want = {} } }"},
	{"local t = {} " EMPTIED("t") "local w = {} for i = 1, 4096 do w[i] = t end",
	 ", examples = { { name = 'e', node = {}, want = w } }"},
};
const size_t steps_example_count = NEAP_ARRAY_LEN(steps_examples);

size_t steps_name_count(const char *const *names)
{
	size_t count = 0;

	while (names[count])
		count++;
	return count;
}
