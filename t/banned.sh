#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Refuses calls that neap does without. An exception stands on the line itself, with its
# reason:
#     /* lint: allow NAME, why */
# and is an error where it is not needed. Refuses, too, a neap_auto_ variable without a
# value: a return before its first one would free what lay on the stack. Arguments: C
# files (default: all).
set -eu
cd "${LINT_ROOT:-$(dirname "$0")/..}"

# name : files where it is fine (a prefix) : what to use
table='
strcpy    :               : neap_strcopy
strcat    :               : neap_buf
sprintf   :               : snprintf
vsprintf  :               : vsnprintf
strtok    :               : strtok_r or strsep
atoi      :               : the parsers of engine/base
gmtime    :               : gmtime_r
localtime :               : localtime_r
malloc    : engine/base/ t/ : neap_alloc
calloc    : engine/base/ t/ : neap_alloc_array
realloc   : engine/base/ t/ : neap_realloc_array
strdup    : engine/base/ t/ : neap_strdup
strndup   : engine/base/ t/ : neap_strndup
asprintf  : engine/base/ t/ : neap_asprintf
vasprintf : engine/base/ t/ : neap_asprintf
json_loadb : engine/json/ t/ : neap_json_parse
json_loads : t/            : neap_json_parse
json_load_file : t/        : neap_json_parse
json_dump_file : t/        : neap_json_dump
json_dumps : t/            : neap_json_dump
json_copy  : engine/json/ t/ : neap_json_copy
json_deep_copy : engine/json/ t/ : neap_json_deep_copy
lua_pcall  : lua/vm/vm.c     : neap_vm_call
lua_pcallk : lua/vm/vm.c     : neap_vm_call
lua_tostring : lua/value/convert.c lua/vm/vm.c lua/vm/sandbox.c lua/call/timelib.c t/ : neap_lua_text, as C stops at a NUL
'

# shellcheck disable=SC2046  # no file of ours has a blank in its name
[ $# -gt 0 ] || set -- $(find engine hw lua api t -name '*.[ch]' 2>/dev/null | sort)
[ $# -gt 0 ] || exit 0

awk -v table="$table" '
function bad(text) { print FILENAME ":" FNR ": " text; failed = 1 }
# The line without strings and comments; in_comment carries over.
function code(text,   out, c, i, n, quote) {
	out = ""; quote = ""
	n = length(text)
	for (i = 1; i <= n; i++) {
		c = substr(text, i, 1)
		if (in_comment) {
			if (substr(text, i, 2) == "*/") { in_comment = 0; i++ }
		} else if (quote != "") {
			if (c == "\\") i++
			else if (c == quote) quote = ""
		} else if (substr(text, i, 2) == "/*") {
			in_comment = 1; i++; out = out " "
		} else if (substr(text, i, 2) == "//")
			break
		else if (c == "\"" || c == "\047") {
			quote = c; out = out " "
		} else
			out = out c
	}
	return out
}
BEGIN {
	rows = split(table, row, "\n")
	for (i = 1; i <= rows; i++) {
		if (split(row[i], col, ":") < 3)
			continue
		gsub(/[ \t]/, "", col[1]); sub(/^ +/, "", col[3])
		where[col[1]] = col[2]; instead[col[1]] = col[3]
	}
}
FNR == 1 { in_comment = 0 }
{
	allowed = ""; why = ""
	if (match($0, /lint: allow [A-Za-z_0-9]+/)) {
		allowed = substr($0, RSTART + 12, RLENGTH - 12)
		why = substr($0, RSTART + RLENGTH)
		if (why !~ /^, *[A-Za-z]/)
			bad("the exception for " allowed " gives no reason: /* lint: allow NAME, why */")
	}
	used = 0
	rest = code($0)
	if (rest ~ /^[ \t]+neap_auto_[a-z_]+ [^=]*;/)
		bad("what goes by itself is initialised where it is declared: = {0}, = NULL, = -1")
	while (match(rest, /[A-Za-z_][A-Za-z_0-9]*[ \t]*\(/)) {
		name = substr(rest, RSTART, RLENGTH - 1); sub(/[ \t]+$/, "", name)
		rest = substr(rest, RSTART + RLENGTH)
		if (!(name in where))
			continue
		ok = 0
		n = split(where[name], place, " ")
		for (i = 1; i <= n; i++)
			if (index(FILENAME, place[i]) == 1)
				ok = 1
		if (ok)
			continue
		if (name == allowed)
			used = 1
		else
			bad(name "() is banned here: " instead[name])
	}
	if (allowed != "" && !used)
		bad("nothing to allow: no banned " allowed "() on this line")
}
END { exit failed }' "$@"
