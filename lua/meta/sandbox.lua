-- SPDX-License-Identifier: Apache-2.0
--
-- The globals that policies have, all of them, for editors (LuaCATS) and, as
-- doc/lua-api.md, for people. They stand in for an editor's own declarations of Lua's
-- libraries, which are to be off there, as they know more than is here. t/test_meta.c
-- compares them with the sandbox.
---@meta
-- luacheck: ignore
error("a meta file is never run")

-- # Global functions
-- Lua 5.4's, where nothing else is said. There is no other global: no `io`, `os`,
-- `debug`, `package`, `coroutine`, `load`, `require`, `print`, `collectgarbage`,
-- `getmetatable`. A name that is not here raises, and so does setting a global: use
-- `local`.

--- Raises message when v is nil or false; gives all its arguments otherwise.
---@generic T
---@param v T
---@param message? any
---@param ... any
---@return T
---@return any ...
function assert(v, message, ...) end

--- Raises message. A text gets the place of this call in front (level 2: of the caller's
--- call).
---@param message any
---@param level? integer
function error(message, level) end

--- Walks a list in order, to the first nil.
---@generic T: table, V
---@param t T
---@return fun(table: V[], i?: integer): integer, V
---@return T
---@return integer i
function ipairs(t) end

--- The key after key and its value, in the order of `pairs`; nil after the last. Walking
--- with `pairs` is cheaper.
---@generic K, V
---@param t table<K, V>
---@param key? K
---@return K?
---@return V?
function next(t, key) end

--- Walks a table in a fixed order: numbers ascending, strings by their bytes, false,
--- true. Other keys raise.
---@generic T: table, K, V
---@param t T
---@return fun(table: table<K, V>, index?: K): K, V
---@return T
function pairs(t) end

--- Calls f; true and its results, or false and the error. It does not catch a spent
--- budget.
---@param f function
---@param ... any
---@return boolean ok
---@return any ...
function pcall(f, ...) end

--- Whether both are the same, without `__eq`.
---@param a any
---@param b any
---@return boolean
function rawequal(a, b) end

--- t[key] without `__index`. Reads the read-only tables of neap, too.
---@param t table
---@param key any
---@return any
function rawget(t, key) end

--- The length without `__len`. Of the read-only tables of neap, too.
---@param v table|string
---@return integer
function rawlen(v) end

--- Sets t[key] without `__newindex`. Refuses the read-only tables of neap.
---@generic T: table
---@param t T
---@param key any
---@param value any
---@return T
function rawset(t, key, value) end

--- The arguments from number n on, or their count for "#".
---@param n integer|"#"
---@param ... any
---@return any ...
function select(n, ...) end

--- Sets the metatable of t, as a copy: what meta says now counts, and later only another
--- `__index`. `__call` is a function; `__gc` and `__mode` are refused; what reads a
--- metatable is not there.
---@generic T: table
---@param t T
---@param meta table|nil
---@return T
function setmetatable(t, meta) end

--- The number that v is or says; nil without one.
---@param v any
---@param base? integer 2 to 36
---@return number|nil
function tonumber(v, base) end

--- The text of v. Of a table or function it is the type ("table"), never an address.
---@param v any
---@return string
function tostring(v) end

--- The type of v.
---@param v any
---@return "nil"|"boolean"|"number"|"string"|"table"|"function"|"userdata"
function type(v) end

--- Calls f; true and its results, or false and what handler gives. The handler runs after
--- f has ended, so that it sees no stack; a spent budget is not caught.
---@param f function
---@param handler fun(message: any): any
---@param ... any
---@return boolean ok
---@return any ...
function xpcall(f, handler, ...) end

-- # Libraries
-- Their tables cannot be changed. No function but `string.len` takes a string of more
-- than 64 KiB, and none gives one.

--- No `random` and `randomseed`, as the same sample is to give the same answer.
---@class mathlib
---@field huge number a float greater than any other
---@field maxinteger integer the largest integer
---@field mininteger integer the smallest integer
---@field pi number 3.1415926535898
math = {}

--- The absolute value.
---@generic T: number
---@param x T
---@return T
function math.abs(x) end

--- The arc cosine, in radians.
---@param x number
---@return number
function math.acos(x) end

--- The arc sine, in radians.
---@param x number
---@return number
function math.asin(x) end

--- The arc tangent of y / x, in radians, x being 1 unless given.
---@param y number
---@param x? number
---@return number
function math.atan(y, x) end

--- The next integer up.
---@param x number
---@return integer
function math.ceil(x) end

--- The cosine of radians.
---@param x number
---@return number
function math.cos(x) end

--- Radians in degrees.
---@param x number
---@return number
function math.deg(x) end

--- e to the power of x.
---@param x number
---@return number
function math.exp(x) end

--- The next integer down.
---@param x number
---@return integer
function math.floor(x) end

--- The rest of x / y, rounded towards zero.
---@param x number
---@param y number
---@return number
function math.fmod(x, y) end

--- The logarithm, to the base e unless given.
---@param x number
---@param base? number
---@return number
function math.log(x, base) end

--- The largest.
---@generic T: number
---@param x T
---@param ... T
---@return T
function math.max(x, ...) end

--- The smallest.
---@generic T: number
---@param x T
---@param ... T
---@return T
function math.min(x, ...) end

--- The whole part, towards zero, and the rest.
---@param x number
---@return number
---@return number
function math.modf(x) end

--- Degrees in radians.
---@param x number
---@return number
function math.rad(x) end

--- The sine of radians.
---@param x number
---@return number
function math.sin(x) end

--- The square root.
---@param x number
---@return number
function math.sqrt(x) end

--- The tangent of radians.
---@param x number
---@return number
function math.tan(x) end

--- x as an integer; nil when it has no whole value.
---@param x any
---@return integer|nil
function math.tointeger(x) end

--- Whether a number is an integer or a float; nil for no number.
---@param x any
---@return "integer"|"float"|nil
function math.type(x) end

--- Whether a is less than b, both without sign.
---@param a integer
---@param b integer
---@return boolean
function math.ult(a, b) end

--- All are methods of strings, too: `s:upper()`. No `dump`, `pack`, `packsize` and
--- `unpack`. Patterns are Lua's; one that takes too many steps on a text raises.
---@class stringlib
string = {}

--- The numbers of the bytes i to j, of the first unless given.
---@param s string
---@param i? integer
---@param j? integer
---@return integer ...
function string.byte(s, i, j) end

--- The string of these bytes.
---@param ... integer
---@return string
function string.char(...) end

--- Where the pattern is first found, and its captures; nil when it is not. Bounded in
--- steps.
---@param s string
---@param pattern string
---@param from? integer
---@param is_plain? boolean
---@return integer|nil first
---@return integer|nil last
---@return any ... captures
function string.find(s, pattern, from, is_plain) end

--- Puts values into a format. No `%p`; `%s` of a table shows its type; at most 200
--- conversions.
---@param format string
---@param ... any
---@return string
function string.format(format, ...) end

--- Walks what the pattern matches. Bounded in steps.
---@param s string
---@param pattern string
---@param from? integer
---@return fun(): string, ...
function string.gmatch(s, pattern, from) end

--- Replaces what the pattern matches, and counts that. Bounded in steps.
---@param s string
---@param pattern string
---@param replacement string|table|function
---@param n? integer
---@return string
---@return integer count
function string.gsub(s, pattern, replacement, n) end

--- The bytes in it. Of a string of any length.
---@param s string
---@return integer
function string.len(s) end

--- In small letters.
---@param s string
---@return string
function string.lower(s) end

--- The captures of the first match, or the match; nil without one. Bounded in steps.
---@param s string
---@param pattern string
---@param from? integer
---@return any ...
function string.match(s, pattern, from) end

--- n times s, with separator between. A result of more than 64 KiB raises.
---@param s string
---@param n integer
---@param separator? string
---@return string
function string.rep(s, n, separator) end

--- From the last byte to the first.
---@param s string
---@return string
function string.reverse(s) end

--- The bytes i to j, to the end unless given.
---@param s string
---@param i integer
---@param j? integer
---@return string
function string.sub(s, i, j) end

--- In capital letters.
---@param s string
---@return string
function string.upper(s) end

--- They work on the raw table, without `__len`, `__index` and `__newindex`, and on at
--- most 200000 elements unless said. Read-only tables may be read.
---@class tablelib
table = {}

--- The elements i to j in one text. A result of more than 64 KiB raises.
---@param list table
---@param separator? string
---@param i? integer
---@param j? integer
---@return string
function table.concat(list, separator, i, j) end

--- Adds value at position, or `table.insert(list, value)` at the end.
---@param list table
---@param position integer
---@param value any
---@overload fun(list: table, value: any)
function table.insert(list, position, value) end

--- Copies the elements first to last to position `to`, of target when given; gives that
--- table.
---@param list table
---@param first integer
---@param last integer
---@param to integer
---@param target? table
---@return table
function table.move(list, first, last, to, target) end

--- A table of the arguments, with their count as `n`.
---@param ... any
---@return table
function table.pack(...) end

--- Takes out the element at position, the last one unless given, and gives it.
---@param list table
---@param position? integer
---@return any
function table.remove(list, position) end

--- Sorts a list of at most 50000 elements. Equal ones keep their order, and a comparison
--- that contradicts itself raises nothing.
---@generic T
---@param list T[]
---@param comes_before? fun(a: T, b: T): boolean
function table.sort(list, comes_before) end

--- The elements i to j, at most 8000.
---@param list table
---@param i? integer
---@param j? integer
---@return any ...
function table.unpack(list, i, j) end

--- Texts in UTF-8.
---@class utf8lib
---@field charpattern string the pattern of one character
utf8 = {}

--- The text of these code points.
---@param ... integer
---@return string
function utf8.char(...) end

--- The code points that begin at the bytes i to j, of the first unless given.
---@param s string
---@param i? integer
---@param j? integer
---@param is_lax? boolean
---@return integer ...
function utf8.codepoint(s, i, j, is_lax) end

--- Walks position and code point of each character.
---@param s string
---@param is_lax? boolean
---@return fun(s: string, at: integer): integer, integer
---@return string
---@return integer
function utf8.codes(s, is_lax) end

--- The characters that begin at the bytes i to j; nil and a position where it is no
--- UTF-8.
---@param s string
---@param i? integer
---@param j? integer
---@param is_lax? boolean
---@return integer|nil
---@return integer? position
function utf8.len(s, i, j, is_lax) end

--- The byte at which character n, counted from byte i, begins.
---@param s string
---@param n integer
---@param i? integer
---@return integer|nil
function utf8.offset(s, n, i) end
