#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The checks of `make lint` can fail: each row plants one fault in a small tree and names
# the part that must find it; a row with "ok" must pass. Without a tool its rows are
# skipped.
set -u
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/neap-lint-t.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0

# row NAME PART ok|bad FILE [WORDS that the finding must have]; the file comes on standard
# input. Where beside is set it names a second file, which includes beside_has.
row()
{
	local name=$1 part=$2 want=$3 file=$4 words=${5:-} got out tool
	n=$((n + 1))
	case $part in
	format) tool=clang-format ;;
	tidy) tool=clang-tidy ;;
	cppcheck | luacheck | shellcheck) tool=$part ;;
	*) tool='sh' ;;
	esac
	if ! command -v "$tool" >/dev/null; then
		echo "ok $n - $name # SKIP $tool is not installed"
		cat >/dev/null
		return
	fi
	rm -rf "$tmp/tree"
	mkdir -p "$tmp/tree/$(dirname "$file")"
	cp .clang-format .clang-tidy .luacheckrc "$tmp/tree/"
	cat >"$tmp/tree/$file"
	if [ -n "${beside:-}" ]; then
		mkdir -p "$tmp/tree/$(dirname "$beside")"
		printf '#include "%s"\n' "$beside_has" >"$tmp/tree/$beside"
	fi
	out=$(LINT_ROOT=$tmp/tree "$root/t/lint.sh" "$part" 2>&1) && got=ok || got=bad
	if [ "$got" = "$want" ] && { [ "$want" = ok ] || grep -qF -- "$words" <<<"$out"; }; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		echo "# wanted $want ($words), got $got:"
		echo "# ${out//$'\n'/$'\n'# }"
	fi
}

row 'engine may not include api' layers bad engine/machine/x.c 'may not include api/config/config.h' <<'C'
#include "api/config/config.h"
C
row 'engine/base may not include engine/machine' layers bad engine/base/x.h 'may not include' <<'C'
#include "engine/machine/cpuset.h"
C
row 'hw may not include lua' layers bad hw/hand/x.c 'hw may not include lua/vm/vm.h' <<'C'
#include "lua/vm/vm.h"
C
row 'lua may not include hw' layers bad lua/x.c 'lua may not include hw/cgroup.h' <<'C'
#include "hw/cgroup.h"
C
row 'engine may not use Lua' layers bad engine/machine/x.c 'may not use lua' <<'C'
#  include <lua.h>
C
beside=api/http/x/y.h beside_has=api/http/z.h
row 'two folders that include each other' layers bad api/http/x.c 'folders include each other: api/http' <<'C'
#include "api/http/x/y.h"
C
beside=
row 'a loop sees the cluster through the client' layers bad api/workload/loop/x.c 'may not include api/store/store.h' <<'C'
#include "api/store/store.h"
C
row 'only the embedded server writes to the store' layers bad api/daemon/x.c 'api/store/write.h is private to' <<'C'
#include "api/store/write.h"
C
row 'the embedded server writes to the store' layers ok api/kube/write/x.c <<'C'
#include "api/store/write.h"
C
row 'include paths start at the root' layers bad engine/base/x.c 'start at the root' <<'C'
#include "base.h"
C
row 'a folder without a row' layers bad engine/other/x.c 'no row for this folder' <<'C'
#include "engine/base/base.h"
C
row 'allowed includes' layers ok api/run/x.c <<'C'
#include <jansson.h>
#include <stdio.h>
#include "api/run/run.h"
#include "engine/machine/cpuset.h"
#include "hw/cgroup.h"
#include "lua/vm/vm.h"
C
row 'the control program may include everything' layers ok api/ctl/x.c <<'C'
#include <curl/curl.h>
#include "api/config/config.h"
#include "hw/topology.h"
C
row 'a banned call' banned bad hw/x.c 'strcpy() is banned here' <<'C'
	strcpy (a, b);
C
row 'malloc outside engine/base' banned bad lua/x.c 'malloc() is banned here: neap_alloc' <<'C'
	p = malloc(3);
C
row 'malloc inside engine/base' banned ok engine/base/x.c <<'C'
	p = malloc(3);
C
row 'lua_pcall outside lua/vm/vm.c' banned bad lua/vm/sandbox.c 'lua_pcall() is banned' <<'C'
	lua_pcall(L, 0, 0, 0);
C
row 'lua_tostring of what a script says' banned bad lua/place/score.c 'lua_tostring() is banned here: neap_lua_text' <<'C'
	neap_strcopy(to, 64, lua_tostring(L, -1));
C
row 'a copy that may lack members' banned bad api/workload/x.c 'json_deep_copy() is banned here: neap_json_deep_copy' <<'C'
	json_t *pod = json_deep_copy(template);
C
row 'banned names in words, strings, longer names' banned ok hw/x.c <<'C'
/* never strcpy(a, b)
 * nor atoi(x) */
	say("sprintf(x)"); snprintf(a, 3, "x"); my_atoi(x); // gmtime(t)
C
row 'an exception with its reason' banned ok hw/x.c <<'C'
	t = gmtime(&now); /* lint: allow gmtime, one thread only */
C
row 'an exception without a reason' banned bad hw/x.c 'gives no reason' <<'C'
	t = gmtime(&now); /* lint: allow gmtime */
C
row 'an exception for nothing' banned bad hw/x.c 'nothing to allow' <<'C'
	t = 0; /* lint: allow gmtime, one thread only */
C
row 'freed by itself, but never set' banned bad hw/x.c 'initialised where it is declared' <<'C'
	neap_auto_buf struct neap_buf out;
C
row 'freed by itself, and set' banned ok hw/x.c <<'C'
	neap_auto_buf struct neap_buf out = {0};
	neap_auto_free char *text =
		make(1);
C
row 'a wide comment in C' columns bad engine/base/x.c 'x.c:2: a comment of 97 columns' <<'C'
/* One line that fits,
 * and a second one that has more columns than a line of a comment may have, which are ninety. */
C
row 'a wide comment behind a tab' columns bad engine/base/x.h 'a comment of 97 columns' <<'C'
	/* Tabs are eight wide, so this line is too long although it has fewer characters. xxx */
C
row 'a wide comment in a script' columns bad t/sh/x.t 'a comment of 98 columns' <<'C'
# A line of a comment in a script that has more columns than ninety, which is the limit there too.
C
row 'wide code, a wide text, a directive, a here-document' columns ok t/sh/x.t <<'C'
echo "a text that is as long as it wants to be, because messages are not comments, and nobody wraps them" # x
# shellcheck disable=SC2034,SC2016,SC2086,SC2154,SC2059,SC2155,SC1090,SC1091  # many reasons, one line
cat <<EOF
# This stands in a here-document and is not a comment of the script, however wide it is, as it is text.
EOF
C
beside=lua/vm/x.c beside_has=lua/vm/vm.h
row 'two files of one name' names bad engine/base/x.c 'x.c: more than one file' <<'C'
C
beside=lua/vm/y.c beside_has=lua/vm/vm.h
row 'files of different names' names ok engine/base/x.c <<'C'
C
beside=
row '601 lines' length bad engine/base/x.c '601 lines' < <(yes '' | head -n 601)
row '600 lines' length ok engine/base/x.c < <(yes '' | head -n 600)
row 'no licence line' licence bad engine/base/x.c 'no SPDX line' <<'C'
int x;
C
row 'space at the end' space bad hw/x.c 'x.c:1: space at the end' < <(printf 'int x; \n')
row 'tab in Lua' space bad policies/qos/x.lua 'tab in Lua' < <(printf '\treturn {}\n')
row 'blank line at the end' space bad hw/x.c 'blank line at the end' < <(printf 'int x;\n\n')
row 'layout' format bad hw/x.c 'x.c:1: laid out' <<'C'
int  x ;
C
row 'a loop without an end' tidy bad hw/x.c 'bugprone-infinite-loop' <<'C'
int neap_x(int a);
int neap_x(int a)
{
	int i = 0;

	while (i < a)
		;
	return i;
}
C
row 'a loop that overflows its array' cppcheck bad hw/x.c 'arrayIndexOutOfBounds' <<'C'
int neap_x(void)
{
	int a[3] = {0};
	return a[3];
}
C
row 'a policy with a global' luacheck bad policies/qos/x.lua 'setting non-standard global' <<'L'
x = 1
return { api = 1 }
L
row 'a policy that opens a file' luacheck bad policies/qos/x.lua "io" <<'L'
return { api = 1, tick = function() return io.open("/etc/passwd") end }
L
row 'a policy that is fine' luacheck ok policies/qos/x.lua <<'L'
return { api = 1, tick = function(ctx, node) return { math.max(node.a, 1) } end }
L
row 'a shell script' shellcheck bad t/x.sh 'SC2086' <<'S'
#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
rm $1
S
echo "1..$n"
