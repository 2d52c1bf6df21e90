#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# All checks of `make lint`, side by side; any finding fails. Arguments: names of single
# parts. LINT_ROOT checks another tree (t/sh/lint.t does, to see that the checks can
# fail). Parts are called by a name put together, and each in a subshell of its own.
# shellcheck disable=SC2317,SC2030,SC2031
set -u
here=$(cd "$(dirname "$0")" && pwd)
export LINT_ROOT=${LINT_ROOT:-$(dirname "$here")}
cd "$LINT_ROOT" || exit 1
export here

# What git keeps or would keep; a tree without git is taken as it lies.
files()
{
	if [ -e .git ]; then
		git ls-files -co --exclude-standard -- "$@" | while read -r f; do
			[ -f "$f" ] && printf '%s\n' "$f"
		done | sort -u
	else
		local pattern args=()
		for pattern in "$@"; do
			case $pattern in
			*/*) args+=(-o -path "./$pattern") ;;
			*) args+=(-o -name "$pattern") ;;
			esac
		done
		find . -path './build*' -prune -o \( -type f \( "${args[@]:1}" \) -print \) |
			sed 's,^\./,,' | sort -u
	fi
}

need()
{
	command -v "$1" >/dev/null && return 0
	echo "$1 is not installed: make deps"
	return 1
}

# Files to NAME, as an array; false when there are none.
list()
{
	local -n to=$1
	shift
	mapfile -t to < <(files "$@")
	[ ${#to[@]} -gt 0 ]
}

part_layers()
{
	local f
	list f '*.c' '*.h' || return 0
	"$here/layers.sh" "${f[@]}"
}

part_banned()
{
	local f
	list f '*.c' '*.h' || return 0
	"$here/banned.sh" "${f[@]}"
}

part_length()
{
	local f
	list f '*.c' '*.h' '*.lua' '*.sh' '*.t' '*.py' '*.go' || return 0
	wc -l "${f[@]}" | awk '$2 != "total" && $1 > 600 {
		print $2 ": " $1 " lines, 600 is the limit: split it by noun"; bad = 1 }
		END { exit bad }'
}

part_licence()
{
	local f name bad=0
	list f '*.c' '*.h' '*.lua' '*.sh' '*.t' '*.py' '*.go' || return 0
	for name in "${f[@]}"; do
		case $name in t/cases/* | t/sandbox/* | t/lua/* | t/policies/*) continue ;; esac
		head -n 3 "$name" | grep -q 'SPDX-License-Identifier: Apache-2.0' && continue
		echo "$name: no SPDX line among the first three"
		bad=1
	done
	return "$bad"
}

part_space()
{
	local f
	list f '*.c' '*.h' '*.lua' '*.sh' '*.t' '*.py' '*.go' '*.md' '*.yml' '*.yaml' Makefile || return 0
	awk 'function bad(text) { print FILENAME ":" FNR ": " text; failed = 1 }
		FNR == 1 && blank { print last ": blank line at the end"; failed = 1 }
		/[ \t]+$/ { bad("space at the end of the line") }
		/\r/ { bad("carriage return") }
		FILENAME ~ /\.[ch]$/ && /^ +\t/ { bad("space before tab") }
		FILENAME ~ /\.lua$/ && /\t/ { bad("tab in Lua") }
		/^(<<<<<<<|>>>>>>>) / { bad("conflict marker") }
		{ blank = /^$/; last = FILENAME }
		END { if (blank) { print last ": blank line at the end"; failed = 1 } exit failed }' \
		"${f[@]}"
}

# Comments have 90 columns, tabs being 8 wide. Code is laid out by clang-format, and
# messages may be longer.
part_columns()
{
	local f
	list f '*.c' '*.h' '*.lua' '*.sh' '*.t' '*.awk' '*.py' '*.go' Makefile || return 0
	awk -f "$here/columns.awk" "${f[@]}"
}

# A file of the product has a name of its own, or a row in t/names that says why not.
part_names()
{
	local f
	list f 'api/*.[ch]' 'engine/*.[ch]' 'hw/*.[ch]' 'lua/*.[ch]' 't/lib/*.[ch]' || return 0
	printf '%s\n' "${f[@]}" | awk -v table="$(cat t/names 2>/dev/null)" '
		BEGIN {
			rows = split(table, row, "\n")
			for (i = 1; i <= rows; i++) {
				if (row[i] ~ /^#/ || row[i] == "") continue
				if (!match(row[i], /^[a-z0-9_]+: ./)) { print "t/names:" i ": not NAME: REASON"; bad = 1; continue }
				name = substr(row[i], 1, index(row[i], ":") - 1)
				reason[name] = i
			}
		}
		{ name = $0; sub(/.*\//, "", name); count[name]++; at[name] = at[name] " " $0 }
		END {
			for (name in count) {
				stem = name; sub(/\.[ch]$/, "", stem)
				if (count[name] < 2) continue
				used[stem] = 1
				if (!(stem in reason)) { print name ": more than one file:" at[name] ": rename, or give the reason in t/names"; bad = 1 }
			}
			for (stem in reason)
				if (!(stem in used)) { print "t/names:" reason[stem] ": no two files are named " stem; bad = 1 }
			exit bad
		}'
}

part_format()
{
	local f
	need clang-format || return 1
	list f '*.c' '*.h' || return 0
	# The first line of each file is enough; the remedy is always the same.
	clang-format --dry-run -Werror "${f[@]}" 2>&1 | awk -F: '
		/error:/ && !($1 in seen) {
			seen[$1] = 1
			print $1 ":" $2 ": laid out unlike .clang-format: make fmt"
		}'
	[ "${PIPESTATUS[0]}" -eq 0 ]
}

part_cppcheck()
{
	local f
	need cppcheck || return 1
	list f '*.c' || return 0
	# missingInclude: outside headers are not followed. unusedFunction needs the whole
	# program.
	cppcheck --quiet --error-exitcode=1 --std=c11 --language=c -I. -D_GNU_SOURCE -D__linux__ \
		-D'NEAP_VERSION="0"' -D'NEAP_SHARE_DIR="/"' \
		--enable=warning,performance,portability --inline-suppr \
		--suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches \
		--template='{file}:{line}: {message} [{id}]' "${f[@]}" 2>&1
}

part_luacheck()
{
	local f
	need luacheck || return 1
	list f 'policies/*.lua' 'lua/*.lua' 't/bench/*.lua' 't/sim/*.lua' 'api/ctl/texts/*.lua' || return 0
	luacheck --quiet --no-color --codes "${f[@]}"
}

part_shellcheck()
{
	local f
	need shellcheck || return 1
	list f '*.sh' '*.t' '*.bash' '.ci/run' || return 0
	(cd "$LINT_ROOT" && shellcheck -x -f gcc "${f[@]}")
}

# The slow one: one file at a time on each CPU.
part_tidy()
{
	local f flags
	need clang-tidy || return 1
	list f '*.c' || return 0
	# shellcheck disable=SC2046
	flags="-std=gnu11 -D_GNU_SOURCE -I. -DNEAP_VERSION=\"0\" -DNEAP_SHARE_DIR=\"/\" $(pkg-config \
		--cflags libevent jansson hwloc libcgroup libseccomp lua5.4 yaml-0.1 openssl libcurl)"
	# shellcheck disable=SC2016  # the inner shell expands them
	printf '%s\0' "${f[@]}" | xargs -0 -n 4 -P "$(nproc)" sh -c '
		flags=$1; shift
		clang-tidy --quiet --config-file="$here/../.clang-tidy" "$@" -- $flags 2>/dev/null' sh "$flags"
}

parts=(tidy cppcheck format layers banned length licence space columns names luacheck shellcheck)
[ $# -gt 0 ] && parts=("$@")

out=$(mktemp -d "${TMPDIR:-/tmp}/neap-lint.XXXXXX") || exit 1
trap 'rm -rf "$out"' EXIT
for part in "${parts[@]}"; do
	if ! declare -F "part_$part" >/dev/null; then
		echo "lint: no part '$part': tidy cppcheck format layers banned length licence" \
			"space columns names luacheck shellcheck" >&2
		exit 2
	fi
	(
		"part_$part" >"$out/$part" 2>&1
		echo $? >"$out/$part.rc"
	) &
done
wait

failed=0
for part in "${parts[@]}"; do
	if [ "$(cat "$out/$part.rc")" = 0 ]; then
		printf '  ok     %s\n' "$part"
	else
		printf '  FAILED %s\n' "$part"
		cat "$out/$part"
		failed=1
	fi
done
exit $failed
