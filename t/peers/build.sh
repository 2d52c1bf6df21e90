#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# make peers: the real parts of Kubernetes that tests run beside neap, into PEERS (default
# ${XDG_CACHE_HOME:-~/.cache}/neap-peers), outside this tree: kube-apiserver,
# kube-scheduler, kube-controller-manager, kubelet and kubectl, built from Debian's source
# package kubernetes, and Debian's etcd, containerd, runc and CNI plugins, unpacked, not
# installed. apt checks the signatures of all of it, with package lists of its own below
# PEERS, so that neither sources.list nor the lists of the machine change. Each step
# leaves a stamp and is not done twice; what was cut off goes on with the next call.
# PEERS/bin holds all programs.
#
# 2 GB (1 GB when done), and ten minutes of two CPUs. Go 1.19 is needed (golang-1.19-go of
# Debian 12; t/deps.sh peers). Exit status 69 where what is needed cannot be had here (no
# package source, no net), 1 where it does not build.
set -eu -o pipefail

PEERS=${PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/neap-peers}
GO_ROOT=${PEERS_GO:-/usr/lib/go-1.19}
PROGRAMS=(kubectl kube-apiserver kube-scheduler kube-controller-manager kubelet)
DEBS=(etcd-server containerd runc containernetworking-plugins)

fail() { echo "peers: $*" >&2; exit 1; }
unavailable() { echo "peers: $*" >&2; exit 69; }

mkdir -p "$PEERS/stamps" "$PEERS/bin"
PEERS=$(cd "$PEERS" && pwd)
stamped() { [ -e "$PEERS/stamps/$1" ]; }
stamp() { touch "$PEERS/stamps/$1"; }
stamped all && exit 0
exec 9>"$PEERS/lock"
flock -n 9 || { echo "peers: another one builds in $PEERS; waiting" >&2; flock 9; }
stamped all && exit 0
[ -x "$GO_ROOT/bin/go" ] || unavailable "no Go 1.19 in $GO_ROOT: apt-get install golang-1.19-go, or name another with PEERS_GO=DIR"
command -v dpkg-source >/dev/null || unavailable "no dpkg-source: apt-get install dpkg-dev"

# apt with lists below PEERS.
apt()
{
	apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$PEERS/apt/parts" \
		-o "Dir::State::lists=$PEERS/apt/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
		-o "Dir::Cache::archives=$PEERS/apt/archives" -o APT::Sandbox::User=root -o Acquire::Retries=3 "$@"
}

# The entries for packages of this machine's Debian sources, and the same for sources.
lists()
{
	local file
	rm -rf "$PEERS/apt"
	mkdir -p "$PEERS/apt/parts" "$PEERS/apt/lists/partial" "$PEERS/apt/archives/partial"
	for file in /etc/apt/sources.list.d/*.sources; do
		if [ ! -e "$file" ] || ! grep -q '^URIs:.*debian' "$file"; then continue; fi
		sed 's/^Types:.*/Types: deb deb-src/' "$file" >"$PEERS/apt/parts/${file##*/}"
	done
	for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
		[ -e "$file" ] || continue
		sed -n '/^deb \(\[[^]]*\] \)\?[^ ]*debian/ { p; s/^deb /deb-src /p; }' "$file" >"$PEERS/apt/parts/${file##*/}.list"
	done
	cat "$PEERS"/apt/parts/* 2>/dev/null | grep -q . ||
		unavailable "no entry of Debian in /etc/apt/sources.list or /etc/apt/sources.list.d"
	apt -o APT::Update::Error-Mode=any update || unavailable "apt-get update failed with the entries in $PEERS/apt/parts"
}

debs()
{
	local deb
	rm -rf "$PEERS/debs" "$PEERS/root"
	mkdir -p "$PEERS/debs"
	(cd "$PEERS/debs" && apt download "${DEBS[@]}" golang-github-modern-go-reflect2-dev) ||
		unavailable "apt-get download of ${DEBS[*]} failed"
	for deb in "$PEERS"/debs/*.deb; do dpkg -x "$deb" "$PEERS/root"; done
	ln -sf ../root/usr/bin/{etcd,containerd,containerd-shim-runc-v2,ctr} ../root/usr/sbin/runc "$PEERS/bin/"
}

# The tree lies where its import path says: Go 1.19 with GOPATH then needs no module of
# the net.
TREE=$PEERS/go/src/k8s.io/kubernetes
sources()
{
	local reflect=$TREE/vendor/github.com/modern-go/reflect2
	rm -rf "$PEERS/source" "$PEERS/go"
	mkdir -p "$PEERS/source" "$(dirname "$TREE")"
	(cd "$PEERS/source" && apt source --download-only kubernetes && dpkg-source --no-check -x ./*.dsc tree >/dev/null) ||
		unavailable "apt-get source kubernetes failed: it is in Debian 12 (main)"
	mv "$PEERS/source/tree" "$TREE"
	# The vendored version crashes with the runtime of Go 1.19; Debian's is a later
	# one.
	rm -f "$reflect"/*.go "$reflect"/*.s
	cp "$PEERS"/root/usr/share/gocode/src/github.com/modern-go/reflect2/*.{go,s} "$reflect/"
	rm -f "$reflect"/*_test.go
}

go()
{
	env -u GOFLAGS PATH="$GO_ROOT/bin:$PATH" GOPATH="$PEERS/go" GOCACHE="$PEERS/go-cache" GO111MODULE=off GOENV=off GOPROXY=off \
		CGO_ENABLED=0 nice -n 10 "$GO_ROOT/bin/go" "$@"
}

# The one generated file that the source package lacks.
openapi()
{
	local dirs
	go build -o "$PEERS/openapi-gen" k8s.io/kubernetes/vendor/k8s.io/kube-openapi/cmd/openapi-gen
	cd "$TREE"
	dirs=$(grep -rl --include='*.go' '+k8s:openapi-gen=' cmd pkg plugin vendor/k8s.io/*/ |
		grep -v '/code-generator/\|/sample-apiserver/\|/testdata/\|_test.go\|zz_generated\|kube-openapi' |
		xargs -n1 dirname | sort -u | sed 's,^,k8s.io/kubernetes/,' | paste -sd,)
	env GOPATH="$PEERS/go" GO111MODULE=off GOENV=off GOCACHE="$PEERS/go-cache" PATH="$GO_ROOT/bin:$PATH" nice -n 10 "$PEERS/openapi-gen" \
		--logtostderr -i "$dirs" -p k8s.io/kubernetes/pkg/generated/openapi -O zz_generated.openapi \
		-h hack/boilerplate/boilerplate.generatego.txt -r "$PEERS/violations"
}

# Without the drivers of clouds and of docker: half the time, and no kubelet that looks
# for a cloud as it starts.
program()
{
	local flags='-s -w' package version
	version=$(sed -n 's/^Version: .*really\([0-9.]*\)-.*/\1/p' "$PEERS"/source/*.dsc | head -n 1)
	[ -n "$version" ] || fail "no version in $PEERS/source/*.dsc"
	for package in client-go/pkg/version component-base/version; do
		package=k8s.io/kubernetes/vendor/k8s.io/$package
		flags+=" -X $package.gitVersion=v$version -X $package.gitMajor=${version%%.*}"
		flags+=" -X $package.gitMinor=$(echo "$version" | cut -d. -f2)"
	done
	go build -trimpath -tags providerless,dockerless -ldflags "$flags" -o "$PEERS/$1.new" "k8s.io/kubernetes/cmd/$1"
	[ "$("$PEERS/$1.new" "$([ "$1" = kubectl ] && echo version || echo --version)" \
		"$([ "$1" = kubectl ] && echo --client=true || echo --version=true)" 2>&1 | grep -c "v$version")" -gt 0 ] ||
		fail "$1 was built, and does not say version $version"
	mv "$PEERS/$1.new" "$PEERS/bin/$1"
}

step()
{
	local name=$1 at=$SECONDS rc
	shift
	stamped "$name" && return
	# In a shell of its own and behind no ||, where -e would count for nothing.
	set +e
	(set -e; "$@") >"$PEERS/log" 2>&1
	rc=$?
	set -e
	if [ "$rc" -ne 0 ]; then
		tail -n 20 "$PEERS/log" >&2
		[ "$rc" -ne 69 ] || exit 69
		fail "$name failed; the log is $PEERS/log"
	fi
	stamp "$name"
	echo "peers: $name, $((SECONDS - at)) s"
}

step lists lists
step debs debs
step sources sources
step openapi openapi
for name in "${PROGRAMS[@]}"; do step "$name" program "$name"; done
rm -rf "$PEERS/go-cache"
stamp all
echo "peers: all is in $PEERS/bin"
