#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Refuses an include against the arrows: which folder may include which, and which outside
# libraries; and folders that include each other in a circle. Arguments: the C files to
# look at, relative to the root of the tree (default: all).
set -eu
cd "${LINT_ROOT:-$(dirname "$0")/..}"

# folder (the longest that fits decides) : folders it may include : libraries besides
# libc. "jansson" is allowed everywhere as a data type. "*" is everything.
table='
engine/base      : engine/base :
engine/json      : engine/base engine/json :
engine/log       : engine/base engine/log :
engine/schema    : engine/base engine/json engine/schema : libpcre2
engine/machine   : engine/base engine/machine :
engine/cpu       : engine/base engine/machine engine/cpu :
engine/object    : engine/base engine/json engine/machine engine/object :
engine/numa      : engine/base engine/json engine/machine engine/cpu engine/object engine/numa :
engine/pod       : engine/base engine/json engine/machine engine/cpu engine/object engine/numa engine/pod :
engine/cluster   : engine/base engine/json engine/machine engine/cpu engine/object engine/numa engine/pod engine/cluster :
engine/reserve   : engine/base engine/json engine/object engine/numa engine/pod engine/cluster engine/reserve :
engine/deschedule : engine/base engine/json engine/machine engine/object engine/numa engine/pod engine/cluster engine/decide engine/migrate engine/deschedule :
engine/migrate   : engine/base engine/json engine/object engine/numa engine/pod engine/cluster engine/reserve engine/migrate :
engine/decide    : engine :
engine/sim       : engine :
hw               : engine hw : hwloc libcgroup libseccomp
lua              : engine lua : lua
api/yaml         : engine/base engine/json api/yaml : libyaml
api/task         : engine/base api/task : libevent
api/http         : engine api/http api/task : libevent openssl
api/client       : engine api/client :
api/kube         : engine api/client api/kube api/http api/store api/task api/yaml : libevent openssl
api/store        : engine api/client api/store : sqlite3 libcurl
api/remote       : engine api/client api/remote api/store api/yaml : libevent libcurl openssl
api/remote/link  : engine hw api/remote : libevent
api/control      : engine lua api/client api/control api/http api/policy api/store api/task :
api/extender     : engine lua api/client api/extender api/http api/schedule :
api/policy       : engine lua api/policy : libevent
api/run          : engine lua hw api/client api/run :
api/migrate      : engine api/client api/task api/workload api/migrate : libevent
api/workload     : engine api/client api/task api/workload : libevent
api/schedule     : engine lua api/client api/schedule api/task api/yaml : libevent
api/deschedule   : engine lua api/client api/deschedule api/http api/policy api/task api/workload api/yaml : libevent
api/agent        : engine hw api/client api/http api/run api/agent api/yaml : libevent
api/ctl          : * : *
api              : * : *
t                : * : *
'
# header : the only folders that may include it
private='
api/store/write.h : api/kube api/store t
'

# shellcheck disable=SC2046  # no file of ours has a blank in its name
[ $# -gt 0 ] || set -- $(find engine hw lua api t -name '*.[ch]' 2>/dev/null | sort)
[ $# -gt 0 ] || exit 0

# Line by line: FILE:LINE:TEXT of every include.
grep -nH '^[[:space:]]*#[[:space:]]*include' "$@" | awk -v table="$table" -v private="$private" '
function library(header) {
	if (header ~ /^event2\/|^event\.h$|^evhttp\.h$/) return "libevent"
	if (header ~ /^openssl\//) return "openssl"
	if (header ~ /^hwloc/) return "hwloc"
	if (header ~ /^libcgroup/) return "libcgroup"
	if (header ~ /^seccomp\.h$/) return "libseccomp"
	if (header ~ /^(lua|lauxlib|lualib|luaconf)\.h$/) return "lua"
	if (header ~ /^sqlite3/) return "sqlite3"
	if (header ~ /^curl\//) return "libcurl"
	if (header ~ /^pcre2/) return "libpcre2"
	if (header ~ /^yaml\.h$/) return "libyaml"
	if (header ~ /^cmocka/) return "cmocka"
	return ""
}
function room(path,   parts, n, dir) {
	dir = path
	while (sub(/\/[^\/]*$/, "", dir))
		if (dir in may)
			return dir
	return ""
}
function has(list, word,   parts, n, i) {
	n = split(list, parts, " ")
	for (i = 1; i <= n; i++)
		if (parts[i] == "*" || parts[i] == word || index(word "/", parts[i] "/") == 1)
			return 1
	return 0
}
function bad(text) { print file ":" line ": " text; failed = 1 }
function folder(path) { return sub(/\/[^\/]*$/, "", path) ? path : "" }
function arrow(file, header,   from, to) {
	from = folder(file); to = folder(header)
	if (from == to || to == "" || from ~ /^t(\/|$)/ || ((from, to) in why))
		return
	why[from, to] = file ": " header
	next_of[from] = next_of[from] " " to
}
# Looks for a way from a folder back to one that is on the way to it.
function walk(from, way,   list, n, i) {
	state[from] = 1
	n = split(next_of[from], list, " ")
	for (i = 1; i <= n; i++) {
		if (state[list[i]] == 1) {
			way = way from " " list[i]
			sub("^.*(^| )" list[i] " ", list[i] " ", way)
			print "folders include each other: " way " (" why[from, list[i]] ")"
			failed = 1
		} else if (!state[list[i]])
			walk(list[i], way from " ")
	}
	state[from] = 2
}
BEGIN {
	rows = split(table, row, "\n")
	for (i = 1; i <= rows; i++) {
		if (split(row[i], col, ":") < 3)
			continue
		gsub(/ /, "", col[1])
		may[col[1]] = col[2]
		libs[col[1]] = col[3]
	}
	rows = split(private, row, "\n")
	for (i = 1; i <= rows; i++)
		if (split(row[i], col, ":") == 2) {
			gsub(/ /, "", col[1])
			only[col[1]] = col[2]
		}
}
{
	split($0, at, ":")
	file = at[1]; sub(/^\.\//, "", file)
	line = at[2]
	mine = room(file)
	if (mine == "") {
		if (!(file in told))
			bad("no row for this folder in t/layers.sh")
		told[file] = 1
		next
	}
	if (match($0, /include[ \t]*"[^"]*"/)) {
		header = substr($0, RSTART, RLENGTH); gsub(/include[ \t]*"|"/, "", header)
		arrow(file, header)
		if (header !~ /\// || header ~ /(^|\/)\.\.?\//)
			bad("\"" header "\": include paths start at the root")
		else if (header in only && !has(only[header], mine))
			bad(header " is private to" only[header])
		else if (!has(may[mine], room(header) == "" ? "?" : room(header)))
			bad(mine " may not include " header)
	} else if (match($0, /include[ \t]*<[^>]*>/)) {
		header = substr($0, RSTART, RLENGTH); gsub(/include[ \t]*<|>/, "", header)
		lib = library(header)
		if (lib != "" && !has(libs[mine], lib))
			bad(mine " may not use " lib " (<" header ">)")
	}
}
END {
	for (from in next_of)
		if (!state[from])
			walk(from, "")
	exit failed
}'
