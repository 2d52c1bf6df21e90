#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Installs the Debian packages that are missing. t/deps.sh [build|lint|docs|bench|fuzz|vm|deb|ci]... ; without
# a group all but fuzz, vm, deb and ci. Quiet when nothing is missing. Go is a peer of the bench only and is never
# installed: without it that column says so. Group ci is for .ci/run alone, as the package prometheus
# starts a service.
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
deb   dpkg-dev             package
deb   debootstrap          package tests
deb   lintian              package tests
ci    curl                 requests of tests
ci    jq                   JSON in tests
ci    prometheus           promtool
ci    zsh                  completion
ci    fish                 completion
ci    kubernetes-client    kubectl
'
# Older ones carry known holes: package, oldest version.
oldest='
libevent-dev   2.1.12-stable-8+deb12u1
liblua5.4-dev  5.4.4-3+deb12u1
'

groups=${*:-build lint docs bench}
for group in $groups; do
	case $group in
	build | lint | docs | bench | fuzz | vm | deb | ci) ;;
	*) echo "deps: no group '$group': build, lint, docs, bench, fuzz, vm, deb, ci" >&2 && exit 2 ;;
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
	# shellcheck disable=SC2086
	if ! apt-get install -y -qq --no-install-recommends $missing >/dev/null 2>&1; then
		apt-get update -qq
		# shellcheck disable=SC2086
		apt-get install -y -qq --no-install-recommends $missing >/dev/null || {
			echo "deps: apt-get could not install$missing" >&2
			exit 1
		}
	fi
fi

# A refused version fails even when everything is there.
echo "$oldest" | while read -r package version; do
	[ -n "$package" ] || continue
	case " $(echo "$wanted" | tr '\n' ' ') " in *" $package "*) ;; *) continue ;; esac
	have=$(dpkg-query -W -f '${Version}' "$package" 2>/dev/null) || have=none
	if [ "$have" = none ] || ! dpkg --compare-versions "$have" ge "$version"; then
		echo "deps: $package is $have, at least $version is needed (security fixes):" \
			"apt-get update && apt-get install $package" >&2
		exit 1
	fi
done
