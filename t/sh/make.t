#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The Makefile rebuilds what it must and nothing else. Works on a copy of it in a small
# tree of its own, so it takes seconds and leaves the real build alone.
#
# Runs beside others.
set -u
cd "$(dirname "$0")/../.." || exit 1
tmp=$(mktemp -d "${TMPDIR:-/tmp}/neap-make.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
# What the calling make passes down is not meant for this one.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES O SAN V WERROR CFLAGS BUILD
n=0

check()
{
	local name=$1
	shift
	n=$((n + 1))
	if "$@"; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		sed 's/^/# /' "$tmp/out"
	fi
}

# build ARGS...: output without lines of make itself.
build() { make --no-print-directory -C "$tmp/tree" "$@" >"$tmp/out" 2>&1; }
said() { grep -qF -- "$1" "$tmp/out"; }
silent() { ! [ -s "$tmp/out" ]; }
unsaid() { ! said "$1"; }
# Two seconds later than anything built: some file systems keep whole seconds.
newer() { touch -d '+2 seconds' "$tmp/tree/$1"; }

mkdir -p "$tmp/tree"/{engine/base,api,t/sh,t/demo,t/attack,policies/qos,lua/meta,doc/internals,doc/deploy/crds}
cp Makefile "$tmp/tree/"
cp t/deps.sh "$tmp/tree/t/"
(
	cd "$tmp/tree" || exit 1
	echo '#define N 1' >engine/base/n.h
	printf '#include "engine/base/n.h"\nint neap_n(void);\nint neap_n(void) { return N; }\n' \
		>engine/base/n.c
	printf 'int neap_o(void);\nint neap_o(void) { return 0; }\n' >engine/base/o.c
	for p in neapd neapctl; do
		printf '#include <stdio.h>\nint neap_n(void);\nint main(void) { printf("%%d\\n", neap_n()); return 0; }\n' \
			>api/$p.c
	done
	printf '#include <stdio.h>\nint main(void) { puts("1..1\\nok 1 - x"); return 0; }\n' \
		>t/test_x.c
	printf 'int main(void) { return 0; }\n' >t/demo/d.c
	cat >t/sh/s.t <<-'S'
		#!/bin/sh
		echo 1..1; test -x $BUILD/neapd && echo ok 1 - shell
	S
	cp t/sh/s.t t/attack/both.t
	printf 'int main(void) { return 0; }\n' >t/attack/both.c
	cp t/test_x.c t/attack/alone.c
	chmod +x t/sh/s.t t/attack/both.t
	echo 'return {}' >policies/qos/p.lua
	echo 'kind: CustomResourceDefinition' >doc/deploy/crds/c.yaml
	printf '# NAME\n\nneapd - x\n' >doc/neapd.8.md
	echo '---@meta' >lua/meta/m.lua
	echo '# x' >doc/lua-api.md
	echo '# x' >doc/internals/x.md
)

check 'builds' build all
check 'the program runs' test "$("$tmp/tree/build/neapd")" = 1
build all
check 'nothing to do is quiet' silent
build test-programs
build test-programs
check 'nothing to do for test programs is quiet' silent
mkdir "$tmp/tree/build/vendor_completions.d"
build all
check 'a folder named like a list of dependencies does no harm' silent

echo '#define N 2' >"$tmp/tree/engine/base/n.h"
newer engine/base/n.h
build all
check 'a touched header rebuilds its users' said engine/base/n.o
check 'and nothing else' unsaid engine/base/o.o
check 'the program is linked anew' test "$("$tmp/tree/build/neapd")" = 2
touch "$tmp/tree/engine/base/n.h" # no longer from the future

build all CFLAGS='-O1 -g'
check 'changed flags rebuild' said engine/base/o.o
build all CFLAGS='-O1 -g'
check 'the same flags do not' silent
build all
check 'flags changed back rebuild' said engine/base/o.o

rm "$tmp/tree/engine/base/o.c"
build all
check 'a removed source renews the archive' said libneap.a
check 'and leaves it' test -z "$(ar t "$tmp/tree/build/libneap.a" | grep '^o\.o$')"

build all SAN=address,undefined
check 'sanitizers build into a folder of their own' test -x "$tmp/tree/build-address-undefined/neapd"
check 'with the sanitizers in it' grep -q __asan "$tmp/tree/build-address-undefined/neapd"
build all
check 'and leave the plain build alone' silent
build all O="$tmp/elsewhere"
check 'O= builds elsewhere' test -x "$tmp/elsewhere/neapd"

build help
check 'help names the targets' said 'make t/cpuset'
check 'help ends with the comment' unsaid SAN\ ?=
build t/x
check 'one test program' said 'ok 1 - x'
build t/s
check 'one shell test' said 'ok 1 - shell'
build t/attack/both
check 'an attack by a script' said 'ok 1 - shell'
check 'with the program beside it' test -x "$tmp/tree/build/t/attack/both"
build t/attack/alone
check 'an attack by a program' said 'ok 1 - x'
build t/none && rc=0 || rc=$?
check 'an unknown test fails' test "$rc" != 0
check 'and says which there are' said 'there is: attack/alone attack/both s x'

build install DESTDIR="$tmp/dest" PREFIX=/usr
check 'install: neapd' test -x "$tmp/dest/usr/sbin/neapd"
check 'install: neapctl' test -x "$tmp/dest/usr/bin/neapctl"
check 'install: policies' test -f "$tmp/dest/usr/share/neap/policies/qos/p.lua"
check 'install: the types of policies' test -f "$tmp/dest/usr/share/neap/lua/meta/m.lua"
check 'install: definitions' test -f "$tmp/dest/usr/share/neap/crds/c.yaml"
check 'install: documents' test -f "$tmp/dest/usr/share/doc/neap/lua-api.md"
check 'install: those in folders too' test -f "$tmp/dest/usr/share/doc/neap/internals/x.md"
check 'install: no manual page as a document' test ! -e "$tmp/dest/usr/share/doc/neap/neapd.8.md"
check 'install: nothing that runs but the two programs' test -z \
	"$(find "$tmp/dest" -type f -perm /111 ! -name neapd ! -name neapctl)"
n=$((n + 1))
if ! command -v lowdown >/dev/null; then
	echo "ok $n - install: manual pages # SKIP lowdown is not installed"
elif [ -f "$tmp/dest/usr/share/man/man8/neapd.8" ]; then
	echo "ok $n - install: manual pages"
else
	echo "not ok $n - install: manual pages"
fi

# As much as an install puts there goes again, and nothing else.
echo mine >"$tmp/dest/usr/share/neap/policies/mine.lua"
build uninstall DESTDIR="$tmp/dest" PREFIX=/usr
check 'uninstall: what is left is what somebody else put there' test "$(cd "$tmp/dest" && find . ! -type d)" = \
	./usr/share/neap/policies/mine.lua
check 'uninstall: no empty folder of documents' test ! -e "$tmp/dest/usr/share/doc/neap"

# Which second make is called, with how many at a time.
cpus=$(nproc)
build -n all
check 'every CPU builds' said " -j$cpus O="
build -n -j$((cpus + 1)) all
check 'or as many as -j says' unsaid " -j$cpus O="
build -n demo
check 'the demo builds what it runs' said 'build/t/demo/d'
check 'and no test' unsaid 'test-programs'

# Who has a tree that somebody else built in is told so, before a compiler complains.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$tmp"
	build_as() { setpriv --reuid 12345 --regid 12345 --clear-groups make --no-print-directory -C "$tmp/tree" "$@" >"$tmp/out" 2>&1; }
	! build_as all
	check "another user's tree is refused" test $? = 0
	check 'with its owner' said 'build belongs to root'
	check 'and what to do' said 'make O=DIR'
	mkdir "$tmp/other" && chown 12345 "$tmp/other"
	build_as O="$tmp/other" all
	check 'which works' test -x "$tmp/other/neapd"
fi

# How far a build is, where there is something to wait for.
rm -rf "$tmp/tree/build"
build all
counts()
{
	local total
	total=$(sed -nE 's/^  \[1\/([0-9]+)\] .*/\1/p' "$tmp/out")
	[ "${total:-0}" -ge "$1" ] && said "  [$total/$total] " && [ "$(grep -c '^  \[' "$tmp/out")" = "$total" ]
}
check 'a build counts up to all of it' counts 5
touch "$tmp/tree/engine/base/o.c"
build all
check 'one of a part counts the part' counts 4
check 'and no other' unsaid n.o
build all CFLAGS=-O1
check 'so does one with other flags' counts 5
build all

# A fresh machine: packages first, then the build, in one call. pkg-config knows nothing
# until deps.sh was called.
mkdir "$tmp/bin"
printf '#!/bin/sh\n[ -e "%s/installed" ] || exit 1\nexec %s "$@"\n' "$tmp" "$(command -v pkg-config)" \
	>"$tmp/bin/pkg-config"
# shellcheck disable=SC2016  # for that sh
printf '#!/bin/sh\n[ "$1" != --versions ] || exit 0\necho "deps $*"\ntouch "%s/installed"\n' "$tmp" >"$tmp/tree/t/deps.sh"
chmod +x "$tmp/bin/pkg-config"
rm -rf "$tmp/tree/build"
PATH=$tmp/bin:$PATH build all
check 'a fresh machine installs first' said 'deps build'
check 'and builds in the same call' test -x "$tmp/tree/build/neapd"
PATH=$tmp/bin:$PATH build all
check 'the next call has nothing to do' silent
rm "$tmp/installed"
printf '#!/bin/sh\necho "deps: cannot"\nexit 1\n' >"$tmp/tree/t/deps.sh"
rm -rf "$tmp/tree/build"
PATH=$tmp/bin:$PATH build all && rc=0 || rc=$?
check 'what cannot be installed ends the build' test "$rc" != 0
check 'before a compiler is called' test ! -e "$tmp/tree/build/api/neapd.o"
echo "1..$n"
