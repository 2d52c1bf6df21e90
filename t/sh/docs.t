#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What the documents say is there: every option, command, key and parameter type is in its
# manual page, every declaration of lua/meta is in doc/lua-api.md, every page renders,
# every path named exists, and the tutorials, policies.md and control-api.md run as they
# are written (t/lib/docs.sh; t/sh/docs-*.t run others). Names come from the programs'
# --help and from the tables of the sources.
#
# Runs beside others.
# shellcheck disable=SC2016,SC2046,SC2059,SC2086,SC2317  # names are words, forms hold backticks,
# and functions are called through check
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
tap_start

PAGES='neapd.8 neapctl.1 neap-policy.5 neap-policy-kinds.5'
POLICY=doc/neap-policy.5.md
KINDS=doc/neap-policy-kinds.5.md

# The part of a Markdown file below a heading, to the next one of the same depth or less.
section()
{
	awk -v wanted="$2" '/^#+ / {
		depth = index($0, " ") - 1
		if (inside && depth <= inside) inside = 0
		if ($0 == wanted) inside = depth
	} inside' "$1"
}

# all_named TEXT FORM LEAST NAME...: each NAME stands in TEXT, in FORM (%s); at least
# LEAST are given, so that a table that is no longer found fails.
all_named()
{
	local text=$1 form=$2 least=$3 name lost=''
	shift 3
	[ $# -ge "$least" ] || { echo "only $# names were found, $least are there at least: $*"; return 1; }
	for name in "$@"; do
		name=$(printf "$form" "$name")
		case $text in *"$name"*) ;; *) lost="$lost $name" ;; esac
	done
	[ -z "$lost" ] || { echo "not there:$lost"; return 1; }
}

# --- neapd(8) ---

options() { grep -oE -- '(^|[ ,])--[a-z][a-z-]*' | tr -d ' ,' | sort -u; }
check "every option of neapd is in neapd(8)" \
	all_named "$(section doc/neapd.8.md '# OPTIONS')" '`%s`' 22 $("$BUILD/neapd" --help | grep -E '^ +-' | options)
keys=$(sed -nE 's/^\t\{NULL, "([a-zA-Z]+)".*/\1/p; s/^\t\{"[a-z-]+", "(policies|node-labels|grants)".*/\1/p' api/config/config_options.c)
check "so are the keys that only the file has" \
	all_named "$(section doc/neapd.8.md '# CONFIGURATION FILE')" '`%s`' 2 $keys

# --- neapctl(1) ---

if [ -x "$BUILD/neapctl" ]; then
	commands=$(sed -nE 's/^\t\.name = "([a-z -]+)",.*/\1/p' api/neapctl.c api/ctl/*.c api/ctl/*/*.c)
	global=$("$BUILD/neapctl" --help | grep -E '^ +-' | options)
	check "the commands of neapctl are found" test "$(echo "$commands" | wc -l)" -ge 10
	check "every global option of neapctl is in neapctl(1)" \
		all_named "$(section doc/neapctl.1.md '# OPTIONS')" '`%s`' 5 $global
	while read -r name; do
		text=$(section doc/neapctl.1.md "## neapctl $name")
		check "neapctl $name is in neapctl(1)" test -n "$text"
		check "with every option" all_named "$text" '`%s`' 0 \
			$("$BUILD/neapctl" $name --help | grep -E '^ +-' | options | grep -vxF -e "$global")
	done <<<"$commands"
else
	skip "neapctl(1)" "neapctl is not built"
fi

# --- neap-policy(5), neap-policy-kinds(5) ---

policy_checks()
{
	check "every kind" all_named "$(section $POLICY '# KINDS')" '`%s`' 1 \
		$(sed -nE 's/^\t\t\.name = "([a-z]+)".*/\1/p' lua/run/kind.c)
	check "every field of the table" all_named "$(section $POLICY '# THE TABLE')" '`%s`' 8 \
		$({ sed -n '/table_keys\[\]/,/;/p' lua/call/policy.c; sed -n '/^static const char /,/;/p' lua/run/kind.c; } |
			grep -oE '"[a-z]+"' | tr -d '"')
	check "every parameter type" all_named "$(section $POLICY '# PARAMETERS')" '`%s`' 8 \
		$(sed -nE 's/^\t\[NEAP_PARAM_[A-Z]+\] = \{"([a-z]+)".*/\1/p' lua/call/param_value.c)
	check "every key" all_named "$(section $KINDS '# KEYS')" '`%s`' 10 \
		$(sed -nE 's/^\t\t\t\.name = "([a-z_.]+)".*/\1/p' engine/machine/key.c)
	check "every kernel file of a key" all_named "$(section $KINDS '# KEYS')" '`%s`' 20 \
		$(sed -nE 's/^\t\t\t\.v[12]_file = "([a-z_.]+)".*/\1/p' engine/machine/key.c)
	check "every target" all_named "$(section $KINDS '# TARGETS')" '`%s`' 6 \
		$(sed -n '/} classes\[\]/,/^};/p' engine/machine/path.c | grep -oE '"[a-z.]+"' | tr -d '"')
	for file in policies/qos/*.lua; do
		check "parameters of $(basename "$file")" all_named "$(section $KINDS '# SHIPPED POLICIES')" \
			'    %s ' 4 $(sed -n '/^  params = {/,/^  },/p' "$file" | sed -nE 's/^    ([a-z_]+) = \{.*/\1/p')
	done
}
policy_checks

# The example at the top of the page is a policy.
awk '/^    return \{/ { inside = 1 } inside { print } /^    \}/ { exit }' $POLICY >"$WORK/page.lua"
if [ -x "$BUILD/neapctl" ]; then
	check "the example of the page is right" "$BUILD/neapctl" policy check "$WORK/page.lua"
else
	skip "the example of the page is right" "neapctl is not built"
fi

# --- doc/lua-api.md ---

# t/test_meta.c compares the declarations with what is really there.
API=doc/lua-api.md
fresh()
{
	awk -f doc/lua-api.awk lua/meta/*.lua >"$WORK/lua-api.md" || return 1
	diff "$WORK/lua-api.md" $API >"$WORK/stale" && return 0
	echo "$API is stale: make $API"
	head -n 5 "$WORK/stale"
	return 1
}
check "$API is made of lua/meta as it is now" fresh
check "every class in lua/meta is in it" all_named "$(cat $API)" '### %s' 10 \
	$(sed -nE 's/^---@(class|alias) (neap\.[A-Za-z]+).*/\2/p' lua/meta/*.lua)
check "every field of a class of neap" all_named "$(cat $API)" '`%s' 60 \
	$(sed -nE 's/^---@field ([a-zA-Z_0-9]+).*/\1/p' lua/meta/neap.lua)
check "every method of an object" all_named "$(grep '^    ' $API)" ':%s(' 14 \
	$(sed -nE 's/^function [A-Z][A-Za-z]*:([a-z_]+)\(.*/\1/p' lua/meta/*.lua)
check "every function of the sandbox" all_named "$(cat $API)" '| `%s(' 60 \
	$(sed -nE 's/^function ([a-z0-9_.]+)\(.*/\1/p' lua/meta/sandbox.lua)

# --- doc/strategies.md ---

strategies()
{
	"$BUILD/t/demo/strategies" policies/deschedule/*.lua >"$WORK/strategies.md" || return 1
	diff "$WORK/strategies.md" doc/strategies.md >"$WORK/stale" && return 0
	echo "doc/strategies.md is stale: make doc/strategies.md"
	head -n 5 "$WORK/stale"
	return 1
}
if [ -x "$BUILD/t/demo/strategies" ]; then
	check "doc/strategies.md is made of policies/deschedule as it is now" strategies
else
	skip "doc/strategies.md is made of policies/deschedule" "it is not built"
fi

# --- pages ---

renders()
{
	lowdown -s -Tman -o "$WORK/$1" "doc/$1.md" || return 1
	grep -q '^\.TH' "$WORK/$1" || { echo "no title"; return 1; }
	# Two hyphens that became a dash would be no option any more.
	! grep -nE '\\\(em|\\\(en|\*\*' "$WORK/$1"
}
for page in $PAGES; do
	if command -v lowdown >/dev/null; then check "$page renders" renders "$page"
	else skip "$page renders" "lowdown is not installed"
	fi
	for part in NAME SYNOPSIS DESCRIPTION 'SEE ALSO'; do
		check "$page has $part" grep -qx "# $part" "doc/$page.md"
	done
done

# --- paths ---

DOCS=$(echo ./*.md doc/*.md doc/*/*.md)

links()
{
	local file=$1 link lost=''
	while read -r link; do
		[ -e "$(dirname "$file")/$link" ] || lost="$lost $link"
	done < <(grep -oE '\]\([^)#]+' "$file" | cut -c3- | grep -vE '^[a-z]+:')
	[ -z "$lost" ] || { echo "not there:$lost"; return 1; }
}

# Paths in backticks that begin with a folder of the tree; a module may be named without
# its ending.
paths()
{
	local file=$1 path lost=''
	while read -r path; do
		compgen -G "$path" >/dev/null || compgen -G "$path.[ch]" >/dev/null || lost="$lost $path"
	done < <(grep -oE '`[^` ]+`' "$file" | tr -d '`' |
		grep -E '^(\.ci|api|doc|engine|hw|lua|policies|t)/' | sort -u)
	[ -z "$lost" ] || { echo "not there:$lost"; return 1; }
}
for file in $DOCS; do
	check "links of $file" links "$file"
	check "paths in $file" paths "$file"
	# What is made of declarations is as long as they are.
	case $file in doc/lua-api.md) most=1600 ;; *) most=600 ;; esac
	check "$file has at most $most lines of 130 columns, but for tables and transcripts" \
		awk -v most="$most" '/^```/ { fenced = !fenced }
			(length > 130 && !fenced && !/^ *\|/) || NR > most { print FILENAME ":" NR; bad = 1 } END { exit bad }' "$file"
done

# --- documents that are run ---

# Fields of a policy in a block with the info string `lua` are made a policy, and that
# must pass.
parts_pass()
{
	local file=$1 part n=0
	awk -v to="$WORK/part" '/^```lua$/ { n++; inside = 1; next } /^```/ { inside = 0 }
		inside { print > (to n ".fields") }' "$file"
	for part in "$WORK"/part*.fields; do
		[ -e "$part" ] || break
		n=$((n + 1))
		{
			echo 'return { api = 1, kind = "qos", name = "part",'
			grep -qE '^(tick|allow|plan|match) = ' "$part" || echo 'tick = function() return {} end,'
			cat "$part"
			echo '}'
		} >"${part%.fields}.lua"
		"$BUILD/neapctl" policy check "${part%.fields}.lua" || return 1
	done
	rm -f "$WORK"/part*
	echo "$n parts"
	[ "$n" -ge 6 ]
}
if [ -x "$BUILD/neapctl" ]; then
	check "the parts of policies in policies.md pass" parts_pass doc/policies.md
else
	skip "the parts of policies in policies.md pass" "neapctl is not built"
fi

API_DOC=doc/control-api.md
check "every path of the API is in $API_DOC" all_named "$(cat $API_DOC)" '%s`' 18 \
	$(sed -nE 's/^\t\{"[A-Z]+", (ONE )?"([^"]*)".*/\2/p' api/control/*.c)
metric_names() { grep -oE '"(# TYPE )?neap_[a-z0-9_]+' api/control/metrics.c | sed -E 's/.*neap_/neap_/; s/(seconds|bytes)_(bucket|sum|count)$/\1/' | sort -u; }
metrics_named()
{
	local text name
	text=$(section $API_DOC '## Health and metrics')
	while read -r name; do
		case $text in *"\`$name"*) ;; *) echo "not there: $name"; return 1 ;; esac
	done < <(metric_names)
	while read -r name; do
		metric_names | grep -qx "$name" || { echo "there is no $name"; return 1; }
	done < <(grep -ohE '\bneap_(build|uptime|ticks?|plans|writes|held|reactions?|node|workloads|policy|http|tls)_[a-z0-9_]+' \
		$API_DOC doc/policies.md | sort -u)
}
check "every code of an error" all_named "$(section $API_DOC '## Errors')" '%s' 10 \
	$(sed -nE 's/^\t\[NEAP_E[A-Z]+\] = \{"([A-Za-z]+)", [45].*/\1/p' engine/base/error.c)
check "every metric too, and no other" metrics_named

if [ "$(id -u)" != 0 ]; then skip "the documents are run" "needs root"; tap_end; fi
if [ ! -w "$(hierarchy cpu)/cgroup.procs" ]; then skip "the documents are run" "no writable cgroups"; tap_end; fi
if [ ! -x "$BUILD/neapctl" ]; then skip "the documents are run" "neapctl is not built"; tap_end; fi
. t/lib/docs.sh

run_document doc/tutorial-one-machine.md 20 'web' 'burn' 'it ended with status 7' 'frozen' 'released' 'one of four CPUs' \
	'critical_used_mili' 'qos/half' 'critical work uses' 'would go live in place of' 'it was refused' 'rolled-back' \
	'too late' 'is deleted' 'nobody answers' 'gave back'
run_document doc/policies.md 40 \
	'ok      one of four CPUs is used' 'got skip' 'would go live; nothing was changed' 'is live' \
	'in place of' 'somebody else was faster' "'cpu.max_mili' is no key" 'qos/filed' 'it belongs to its file' \
	'filed.lua:' 'refused with status 1' 'rolled-back' 'no idea' 'is deleted' 'cpu-suppress' \
	"a burst counts at once, its end slowly"
run_document doc/control-api.md 18 '"code":"Unauthorized"' '"result":"live"' '"result":"unchanged"' '"result":"deleted"' \
	'"verb":"rollback"' '"problems":[{' '"threshold":70' '"entries":[{' '"state":"frozen"' 'event: audit' 'this needs admin' \
	'neap_policy_state{policy="qos/cpu-share",state="active"} 1'
if command -v kubectl >/dev/null; then
	run_document doc/tutorial-kubectl.md 30 'deployment.apps/web unchanged' 'there are differences' 'nginx:1.27' 'Invalid value: -1' \
		'this, too' 'reservation-demo created' 'true' 'Allocate Once:' 'migrate-job-demo' 'prices ' 'train.rail.example.org/night created' \
		'less than or equal to 20' 'No resources found in shop namespace' 'train.rail.example.org/night'
else
	skip "doc/tutorial-kubectl.md" "kubectl is not installed"
fi
tap_end
