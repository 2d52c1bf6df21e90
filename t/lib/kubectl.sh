# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034  # NEAPD_PID belongs to tap.sh
#
# kubectl against a neapd of the test's own: finds every version that is there, and types
# written tours (t/cases/kubectl, t/lib/tour.pl). Sourced behind t/lib/tap.sh.

# Lines "VERSION PATH", each version once, the oldest first: of PATH, of those that lie
# beside it under names with a version, and of NEAP_KUBECTL, a list of paths. One that
# only picks another of them has a '~' behind its version.
kubectl_list()
{
	local path version
	# shellcheck disable=SC2086  # a list
	for path in ${NEAP_KUBECTL:-} "$(command -v kubectl)" "$(dirname "$(readlink -f "$(command -v kubectl)")")"/kubectl.1.*; do
		[ -x "$path" ] || continue
		version=$(HOME=$WORK "$path" version --client -o json 2>/dev/null |
			sed -n 's/^ *"gitVersion": "v\(1\.[0-9]*\)[^"]*\(dispatcher\)".*/\1~/p; s/^ *"gitVersion": "v\(1\.[0-9]*\).*/\1/p' |
			head -n 1)
		[ -n "$version" ] && echo "$version $path"
	done | sort -V -u -k1,1
}

# A neapd that serves objects; false when it does not start.
kubectl_serve()
{
	free_port
	export KUBECONFIG=$WORK/data/kubeconfig SERVER=https://127.0.0.1:$((PORT + 1))
	neapd_options --roles api --policy none --listen "127.0.0.1:$PORT"
	"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
	eventually 10 test -s "$KUBECONFIG"
}

# kubectl_tour VERSION PATH TOUR...: in a folder and with a cache of its own; one result a
# command.
kubectl_tour()
{
	local version=$1 dir=$WORK/tour-$1 line
	mkdir -p "$dir/bin" "$dir/home"
	ln -sf "$2" "$dir/bin/kubectl"
	cp t/cases/kubectl/manifests/* "$dir/"
	shift 2
	while read -r line; do
		case $line in
		"ok - "*) TAP_N=$((TAP_N + 1)) && echo "ok $TAP_N${line#ok}" ;;
		"not ok - "*) TAP_N=$((TAP_N + 1)) TAP_FAILED=$((TAP_FAILED + 1)) && echo "not ok $TAP_N${line#not ok}" ;;
		*) echo "$line" ;;
		esac
	done < <(cd t/cases/kubectl && HOME=$dir/home PATH=$dir/bin:$PATH perl ../../lib/tour.pl "$version" "$dir" "$@" 2>&1 ||
		echo "# tour.pl: status $?")
	rm -rf "$dir"
}

kubectl_need()
{
	need_root
	command -v kubectl >/dev/null || [ -n "${NEAP_KUBECTL:-}" ] || skip_all "kubectl is not installed"
	command -v perl >/dev/null || skip_all "perl is not installed"
}

# kubectl_all TOUR...: by the newest kubectl that is itself, with NEAP_KUBECTL_LONG=1 by
# each, and a neapd for each.
kubectl_all()
{
	local newest version path
	newest=$(kubectl_list | grep -v '~' | tail -n 1)
	while read -r version path; do
		[ -n "${NEAP_KUBECTL_LONG:-}" ] || [ "$version $path" = "$newest" ] || continue
		check "a neapd for kubectl $version" kubectl_serve
		kubectl_tour "$version" "$path" "$@"
		neapd_end TERM
		rm -rf "$WORK/data"
	done < <(kubectl_list)
	check "there was one" test "$TAP_N" -gt 1
}
