#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# t/deps.sh on made-up machines: what is there, what the package sources have, and what it
# says and installs.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
tap_start

mkdir "$WORK/bin"
cat >"$WORK/bin/dpkg-query" <<'S'
#!/bin/bash
# installed: lines "PACKAGE VERSION"
shift
format=$2
shift 2
rc=0
for package in "$@"; do
	version=$(sed -n "s/^$package //p" "$WORK/installed")
	if [ -z "$version" ]; then rc=1
	elif [[ $format == *Status* ]]; then echo "installed $package"
	else printf '%s' "$version"; fi
done
exit $rc
S
cat >"$WORK/bin/apt-get" <<'S'
#!/bin/bash
# sources: the same lines, of what can be installed
echo "apt-get $*" >>"$WORK/calls"
[ "$1" = install ] || exit 0
rc=0 got=()
for package in "$@"; do
	case $package in install | -*) continue ;; esac
	line=$(grep "^$package " "$WORK/sources") || { rc=100; continue; }
	got+=("$line")
done
[ $rc = 0 ] && printf '%s\n' "${got[@]}" >>"$WORK/installed"
exit $rc
S
cat >"$WORK/bin/apt-cache" <<'S'
#!/bin/bash
version=$(sed -n "s/^$2 //p" "$WORK/sources")
[ -n "$version" ] || version='(none)'
printf '%s:\n  Installed: (none)\n  Candidate: %s\n' "$2" "$version"
S
printf '#!/bin/sh\necho 0\n' >"$WORK/bin/id"
printf '#!/bin/sh\necho "systemctl $*" >>"%s/calls"\n' "$WORK" >"$WORK/bin/systemctl"
chmod +x "$WORK/bin"/*
printf 'VERSION_CODENAME=oldname\n' >"$WORK/os-release"
export WORK
NEW='libevent-dev 2.1.12-stable-8+deb12u1
liblua5.4-dev 5.4.4-3+deb12u1'
OLD='libevent-dev 2.1.12-stable-8
liblua5.4-dev 5.4.4-3'

# machine INSTALLED SOURCES: packages by lines; "all" of a group's are installed otherwise
machine()
{
	: >"$WORK/calls"
	printf '%s\n' "$1" >"$WORK/installed"
	printf '%s\n' "$2" >"$WORK/sources"
}
deps() { PATH=$WORK/bin:$PATH NEAP_OS_RELEASE=$WORK/os-release t/deps.sh "$@" >"$WORK/said" 2>&1; }
said() { has "$(cat "$WORK/said")" "$1"; }
called() { has "$(cat "$WORK/calls")" "$1"; }
docs='lowdown 1.0'

machine "$docs" ''
check "all there" deps docs
check "is quiet" is "$(cat "$WORK/said")" ""
machine '' "$docs"
check "missing: installed" deps docs
check "from the lists as they are" called "apt-get install -y -qq --no-install-recommends lowdown"
machine '' ''
check "no source has it: that fails" not deps docs
check "with its name" said "no such package: lowdown"
check "and what is missing" said "suites oldname, oldname-updates and oldname-security; then: apt-get update"
machine "$(printf 'curl 1\nkubernetes-client 1\nstrace 1\nopenssl 1\nprocps 1\nprometheus 1\nzsh 1')" 'fish 1'
check "one of two has a source: that fails, too" not deps test
check "the other is installed" grep -q '^fish 1' "$WORK/installed"
check "the one that lacks is named" said "no such package: jq"

machine "$OLD" "$OLD"
check "too old, and no source has a newer one: that fails" not deps --versions
check "with the least version" said "libevent-dev is 2.1.12-stable-8, at least 2.1.12-stable-8+deb12u1 is needed"
check "and the suite that has it" said "oldname-security"
machine "$OLD" "$NEW"
check "too old, and there is a newer one" not deps --versions
check "how to get it" said "as root, run: apt-get install libevent-dev"
machine "$NEW" ''
check "as old as may be" deps --versions
check "an unknown group" not deps nothing
check "is told" said "no group 'nothing': build, lint, docs, test, bench, fuzz, vm, peers, deb"
tap_end
