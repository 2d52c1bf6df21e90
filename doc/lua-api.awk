# SPDX-License-Identifier: Apache-2.0
#
# Makes doc/lua-api.md of the type declarations in lua/meta: awk -f doc/lua-api.awk
# lua/meta/*.lua
#
# "-- # TITLE" in a meta file begins a chapter, comment lines right below it are its text.
# Each class and alias is a section: its text, a table of its fields, its functions.
# Functions of a local are blocks, under the name that a trailing comment gives (`local
# Ctx = {} -- ctx`); functions of a global library, and global functions, are rows of a
# table. POSIX awk.

function put(line)
{
	if (line != "" || !was_blank) body = body line "\n"
	was_blank = line == ""
}

# A paragraph, wrapped.
function put_paragraph(words,   i, n, list, line)
{
	n = split(words, list, " ")
	for (i = 1; i <= n; i++) {
		if (line != "" && length(line) + length(list[i]) > 110) {
			put(line)
			line = ""
		}
		line = line (line == "" ? "" : " ") list[i]
	}
	if (line != "") put(line)
}

# A cell of a table.
function cell(s) { gsub(/\|/, "\\|", s); return s }
function code(s) { return s == "" ? "" : "`" cell(s) "`" }

# The link that a heading gets: small letters, digits, - and _, blanks as -.
function anchor(s)
{
	s = tolower(s)
	gsub(/[^a-z0-9_ -]/, "", s)
	gsub(/ /, "-", s)
	return "#" s
}

function heading(marks, title)
{
	put("")
	put(marks " " title)
	put("")
	if (marks != "####")
		contents = contents "\n" (marks == "##" ? "- " : "  - ") "[" title "](" anchor(title) ")"
	table = ""
}

function begin_table(name, head,   bar)
{
	if (table == name) return
	if (table != "" || has_text) put("")
	table = name
	bar = head
	gsub(/[^|]+/, "---", bar)
	put(head)
	put(bar)
}

function put_text(   i, n, list)
{
	has_text = text != ""
	n = split(text, list, "\n\n")
	for (i = 1; i <= n; i++) {
		if (i > 1) put("")
		put_paragraph(list[i])
	}
	text = ""
}

# The type at the start of s, which ends at a blank outside brackets and quotes; the rest
# is in rest.
function take_type(s,   i, c, depth, quoted)
{
	for (i = 1; i <= length(s); i++) {
		c = substr(s, i, 1)
		if (c == "\"") quoted = !quoted
		if (quoted) continue
		if (index("{(<[", c)) depth++
		if (index("})>]", c)) depth--
		if (c == " " && depth == 0 && !index(",:|", substr(s, i - 1, 1))) break
	}
	rest = substr(s, i + 1)
	return substr(s, 1, i - 1)
}

function first_word(s) { rest = s; sub(/^[^ ]+ */, "", rest); sub(/ .*/, "", s); return s }

# For people: names of a generic are what they stand for, iterators are functions.
function plain(type,   name)
{
	sub(/\?$/, "", type)
	for (name in generic)
		if (type == name) return generic[name]
	if (type ~ /^fun\(/) return "function"
	return type
}

function forget(   name)
{
	text = signature = notes = gives = gives_types = ""
	param_count = 0
	for (name in type_of) delete type_of[name]
	for (name in is_optional) delete is_optional[name]
	for (name in generic) delete generic[name]
}

function put_function(name, args,   i, n, list, at, separator)
{
	separator = index(name, ":") ? ":" : "."
	at = index(name, separator)
	if (at && is_object[substr(name, 1, at - 1)]) {
		name = shown[substr(name, 1, at - 1)] separator substr(name, at + 1)
		n = split(args, list, / *, */)
		args = ""
		for (i = 1; i <= n; i++) {
			args = args (i > 1 ? ", " : "") list[i] is_optional[list[i]]
			if (list[i] in type_of) args = args ": " type_of[list[i]]
		}
		heading("####", name)
		put("    " name "(" args ")" (gives == "" ? "" : " -> " gives))
		put("")
		put_text()
		if (notes != "") {
			put("")
			sub(/\n$/, "", notes)
			put(notes)
		}
		return
	}
	n = split(args, list, / *, */)
	args = ""
	for (i = 1; i <= n; i++)
		args = args (i > 1 ? ", " : "") list[i] is_optional[list[i]]
	begin_table("functions", "| Function | Gives | Meaning |")
	gsub(/\n/, " ", text)
	put("| " code(name "(" args ")") " | " code(gives_types) " | " cell(text) " |")
}

FNR == 1 { is_chapter = 0; forget() }

/^-- # / {
	heading("##", substr($0, 6))
	is_chapter = 1
	has_text = 0
	forget()
	next
}
is_chapter && /^--( |$)/ { text = text (length($0) > 2 ? " " substr($0, 4) : "\n\n"); next }
is_chapter { put_text(); is_chapter = 0 }

/^---@class / {
	class = $2
	prefix = class ~ /lib$/ ? substr(class, 1, length(class) - 3) : ""
	heading("###", prefix == "" ? class : prefix)
	put_text()
	forget()
	next
}
/^---@alias / {
	class = $2
	heading("###", class)
	put_text()
	sub(/^---@alias [^ ]+ /, "")
	if (has_text) put("")
	put("    " $0)
	forget()
	next
}
/^---@field / {
	sub(/^---@field /, "")
	name = first_word($0)
	type = take_type(rest)
	begin_table("fields", "| Field | Type | Meaning |")
	put("| " code((prefix == "" ? "" : prefix ".") name) " | " code(type) " | " cell(rest) " |")
	next
}
/^---@operator / {
	sub(/^---@operator /, "")
	match($0, /^[a-z]+/)
	name = substr($0, 1, RLENGTH)
	other = $0
	sub(/^[a-z]+/, "", other)
	sub(/:[^:]*$/, "", other)
	gsub(/[()]/, "", other)
	sub(/.*: */, "")
	begin_table("operators", "| Operator | Other side | Gives |")
	put("| " code(name in sign ? sign[name] : name) " | " code(other) " | " code($0) " |")
	next
}
/^---@generic / {
	sub(/^---@generic /, "")
	count = split($0, part, / *, */)
	for (i = 1; i <= count; i++) {
		name = type = part[i]
		sub(/:.*/, "", name)
		generic[name] = sub(/^[^:]*: */, "", type) ? type : "any"
	}
	next
}
/^---@param / {
	sub(/^---@param /, "")
	name = first_word($0)
	type = take_type(rest)
	is_optional[name] = ""
	if (sub(/\?$/, "", name)) is_optional[name] = "?"
	type_of[name] = type
	if (rest != "") notes = notes "- `" name "`: " rest "\n"
	next
}
/^---@return / {
	sub(/^---@return /, "")
	type = take_type($0)
	name = type ~ /\?$/ ? "?" : ""
	type = plain(type) name
	name = first_word(rest)
	if (name == "...") type = type " ..."
	gives = gives (gives == "" ? "" : ", ") type (name == "" || name == "..." ? "" : " " name)
	gives_types = gives_types (gives_types == "" ? "" : ", ") type
	if (rest != "") notes = notes "- gives `" name "`: " rest "\n"
	next
}
/^---@/ { next }
/^---/ {
	line = $0
	sub(/^--- ?/, "", line)
	text = text (text == "" ? "" : "\n") line
	next
}
/^local [A-Za-z_]+ = \{\}/ {
	is_object[$2] = 1
	shown[$2] = $2
	if (match($0, /-- /)) shown[$2] = substr($0, RSTART + 3)
	has_text = 1 # whatever comes next is apart from it
}
/^function / {
	name = substr($0, 10)
	args = name
	sub(/\(.*/, "", name)
	sub(/^[^(]*\(/, "", args)
	sub(/\).*/, "", args)
	put_function(name, args)
}
{ forget() }

BEGIN {
	sign["add"] = "a + b"; sign["sub"] = "a - b"; sign["mul"] = "a * b"; sign["div"] = "a / b"
	sign["bor"] = "a | b"; sign["band"] = "a & b"; sign["bxor"] = "a ~ b"; sign["len"] = "#a"
	sign["concat"] = "a .. b"; sign["unm"] = "-a"; sign["idiv"] = "a // b"; sign["mod"] = "a % b"
	sign["call"] = "a(b)"
}

END {
	print "<!-- Made from lua/meta by doc/lua-api.awk: change those, then make doc/lua-api.md. -->"
	print "# What policies can use\n"
	print "Every type, field and function that neap has for policies; nothing else is there. The rules that go with them, the"
	print "keys and the targets are in neap-policy-kinds(5). What ends in `?` may be left out or is not always given; a field of a"
	print "type with `|nil` can be nil."
	print ""
	print "The declarations serve editors, too, as LuaCATS annotations. For lua-language-server a `.luarc.json` beside the"
	print "policies names them, and puts Lua's own libraries off, of which policies have a part only:"
	print ""
	print "    { \"runtime.version\": \"Lua 5.4\","
	print "      \"workspace.library\": [\"/usr/local/share/neap/lua/meta\"],"
	print "      \"runtime.builtin\": { \"basic\": \"disable\", \"coroutine\": \"disable\", \"debug\": \"disable\","
	print "        \"io\": \"disable\", \"math\": \"disable\", \"os\": \"disable\", \"package\": \"disable\","
	print "        \"string\": \"disable\", \"table\": \"disable\", \"utf8\": \"disable\" } }"
	print contents
	printf "%s", body
}
