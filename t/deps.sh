#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Installs the Debian packages that are missing. t/deps.sh
# [build|lint|docs|test|bench|fuzz|vm|peers|deb]... ; without a group all but fuzz, vm,
# peers and deb. Quiet when nothing is missing. t/deps.sh --versions only looks whether
# what is there is too old. Go is a peer of the bench only and is never installed: without
# it that column says so. Of the package prometheus only the programs are wanted: its
# service is neither started nor enabled.
set -eu

# group  package  purpose
table='
build gcc                  compiler
build make                 build
build pkg-config           flags
build libevent-dev         loop
build libjansson-dev       json
build libhwloc-dev         topology
build libcgroup-dev        groups
build libseccomp-dev       filter of system calls
build liblua5.4-dev        policies
build libyaml-dev          configuration
build libssl-dev           tls
build libcurl4-openssl-dev client
build libsqlite3-dev       store
build libpcre2-dev         patterns of schemas
build libcmocka-dev        tests
build perl                 prove
build tzdata               zones of ctx.time
lint  clang-tidy           bugs
lint  cppcheck             bugs
lint  clang-format         layout
lint  lua-check            lua
lint  shellcheck           shell
docs  lowdown              manuals
bench strace               writes
bench curl                 requests
fuzz  clang                fuzzers
fuzz  libclang-rt-dev      fuzzers and their sanitizers
vm    qemu-system-x86      kernel tests
vm    busybox-static       kernel tests
vm    cpio                 kernel tests
peers golang-1.19-go       real parts of Kubernetes
peers dpkg-dev             their sources
peers python3              requests to both
peers python3-kubernetes   a client
deb   dpkg-dev             package
deb   debootstrap          package tests
deb   lintian              package tests
test  curl                 requests
test  jq                   JSON
test  strace               system calls
test  openssl              certificates
test  procps               processes
test  prometheus           figures for strategies, promtool
test  zsh                  completion
test  fish                 completion
test  kubernetes-client    kubectl
'
# Older ones carry known holes: package, oldest version.
oldest='
libevent-dev   2.1.12-stable-8+deb12u1
liblua5.4-dev  5.4.4-3+deb12u1
'

# A package source that is missing is the usual reason why none has a package.
remedy()
{
	# shellcheck source=/dev/null
	suite=$(. "${NEAP_OS_RELEASE:-/etc/os-release}" 2>/dev/null && echo "${VERSION_CODENAME:-}") || suite=''
	echo "deps: the package sources of this machine lack it: /etc/apt/sources.list and sources.list.d need" \
		"component main of the suites ${suite:-CODENAME}, ${suite:-CODENAME}-updates and" \
		"${suite:-CODENAME}-security; then: apt-get update" >&2
}

# The version that a source of this machine has, "" for none.
candidate() { apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: *//p' | grep -vx '(none)' || true; }

# versions PACKAGE...: a refused version fails even when everything is there.
versions()
{
	echo "$oldest" | while read -r package version; do
		[ -n "$package" ] || continue
		case " $* " in *" $package "*) ;; *) continue ;; esac
		have=$(dpkg-query -W -f '${Version}' "$package" 2>/dev/null) || have=none
		[ "$have" != none ] && dpkg --compare-versions "$have" ge "$version" && continue
		echo "deps: $package is $have, at least $version is needed (security fixes)" >&2
		could=$(candidate "$package")
		if [ -n "$could" ] && dpkg --compare-versions "$could" ge "$version"; then
			echo "deps: as root, run: apt-get install $package" >&2
		else
			remedy
		fi
		exit 1
	done
}

if [ "${1:-}" = --versions ]; then
	command -v dpkg-query >/dev/null || exit 0
	# shellcheck disable=SC2046  # a list of package names
	versions $(echo "$oldest" | awk 'NF { print $1 }')
	exit
fi

groups=${*:-build lint docs test bench}
for group in $groups; do
	case $group in
	build | lint | docs | test | bench | fuzz | vm | peers | deb) ;;
	*) echo "deps: no group '$group': build, lint, docs, test, bench, fuzz, vm, peers, deb" >&2 && exit 2 ;;
	esac
done
if ! command -v dpkg-query >/dev/null; then
	echo "deps: not a Debian machine; install by hand what gives:" >&2
	echo "$table" | awk 'NF { print "  " $2 " (" $3 ")" }' >&2
	exit 1
fi

wanted=$(echo "$table" | awk -v groups=" $groups " 'NF && index(groups, " " $1 " ") { print $2 }')
# dpkg-query fails when one is unknown; that one is what is looked for.
# shellcheck disable=SC2086  # a list of package names
there=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $wanted 2>/dev/null |
	awk '$1 == "installed" { print $2 }') || true
missing=''
for package in $wanted; do
	echo "$there" | grep -qx "$package" && continue
	# On newer releases pkg-config is a name that pkgconf provides.
	[ "$package" = pkg-config ] && command -v pkg-config >/dev/null && continue
	# Another kubectl does as well.
	[ "$package" = kubernetes-client ] && command -v kubectl >/dev/null && continue
	missing="$missing $package"
done

if [ -n "$missing" ]; then
	if [ "$(id -u)" != 0 ]; then
		echo "deps: these packages are missing:" >&2
		for package in $missing; do
			echo "$table" | awk -v p="$package" '$2 == p { print "  " p " (" $3 ")" }' >&2
		done
		echo "deps: as root, run: apt-get install$missing" >&2
		exit 1
	fi
	export DEBIAN_FRONTEND=noninteractive
	echo "deps: installing$missing"
	case "$missing " in
	*' prometheus '*) [ ! -d /run/systemd/system ] || systemctl mask --runtime -q prometheus ;;
	esac
	failed=0
	# shellcheck disable=SC2086  # a list of package names
	if ! apt-get install -y -qq --no-install-recommends $missing >/dev/null 2>&1; then
		apt-get update -qq || failed=1
		# What there is none of must not keep the others away.
		found='' lost=''
		for package in $missing; do
			if [ -n "$(candidate "$package")" ]; then found="$found $package"; else lost="$lost $package"; fi
		done
		# shellcheck disable=SC2086
		[ -z "$found" ] || apt-get install -y -qq --no-install-recommends $found >/dev/null || {
			echo "deps: apt-get could not install$found" >&2
			failed=1
		}
		if [ -n "$lost" ]; then
			echo "deps: no such package:$lost" >&2
			remedy
			failed=1
		fi
	fi
	case "$missing " in
	*' prometheus '*)
		[ ! -d /run/systemd/system ] || {
			systemctl disable -q prometheus
			systemctl unmask --runtime -q prometheus
		} || true # it may not have been installed
		;;
	esac
	[ "$failed" = 0 ] || exit 1
fi

# shellcheck disable=SC2086
versions $wanted
