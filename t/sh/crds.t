#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Kinds that are declared, on a neapd that ends, is killed and starts again: those that
# come with neap, from a share folder of the test's own, and one that a user brings, with
# kubectl where there is one.
#
# Runs beside others.
# shellcheck disable=SC2317  # functions are called through check
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_root
tap_start

CRDS=/apis/apiextensions.k8s.io/v1/customresourcedefinitions
WIDGETS=/apis/example.com/v1/namespaces/default/widgets
FILE=$WORK/share/crds/scheduling.koordinator.sh_devices.yaml
mkdir -p "$WORK/share/crds"
cp doc/deploy/crds/*.yaml "$WORK/share/crds/"
chmod -R a+rX "$WORK/share"
free_port

# ask METHOD PATH [BODY]: the status in the last line.
ask() { curl -sS --unix-socket "$WORK/neap.sock" -X "$1" -w '\n%{http_code}' ${3:+-H 'Content-Type: application/json' -d "$3"} "http://localhost$2"; }
status() { is "$(ask "$@" | tail -n 1)" "${STATUS:-200}"; }
created() { STATUS=201 status POST "$@"; }
missing() { STATUS=404 status GET "$@"; }
shows() { has "$(ask GET "$1")" "$2"; }
annotation() { ask GET "$CRDS/devices.scheduling.koordinator.sh" | grep -o '"neap.sh/crd-sha256":"[0-9a-f]*"'; }
sum() { echo "\"neap.sh/crd-sha256\":\"$(sha256sum <"$FILE" | cut -d ' ' -f 1)\""; }
served() { curl -sSf --unix-socket "$WORK/neap.sock" http://localhost/api; }
start()
{
	neapd_options --roles api --policy none --share-dir "$WORK/share" --listen "127.0.0.1:$PORT" "$@"
	"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
	eventually 10 served
}
define()
{
	cat <<-'JSON'
	{"metadata": {"name": "widgets.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced",
	"names": {"plural": "widgets", "singular": "widget", "kind": "Widget"}, "versions": [{"name": "v1", "served": true,
	"storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object",
	"properties": {"size": {"type": "integer", "default": 3, "description": "How large it is."}}}}}}}]}}
	JSON
}

check "it starts" start
check "what comes with neap is served at once" status GET /apis/scheduling.koordinator.sh/v1alpha1/reservations
check "all of it" is "$(ask GET "$CRDS" | grep -o '"type":"Established"' | wc -l)" "$(find "$WORK/share/crds" -type f | wc -l)"
check "with the sum of its file" is "$(annotation)" "$(sum)"
check "a definition" created "$CRDS" "$(define)"
check "is established" eventually 5 shows "$CRDS/widgets.example.com" InitialNamesAccepted
check "an object of it" created "$WIDGETS" '{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"a"},"spec":{}}'
neapd_end TERM
check "a new neapd" start
check "has kind and object" shows "$WIDGETS/a" '"size":3'
neapd_end KILL
check "so has one after a killed one" start
check "which has them" shows "$WIDGETS/a" '"size":3'

# Deleted while nobody looks to the end.
check "an object that waits" created "$WIDGETS" '{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"b","finalizers":["example.com/wait"]}}'
check "the definition is deleted" status DELETE "$CRDS/widgets.example.com"
check "and waits with it" eventually 5 missing "$WIDGETS/a"
neapd_end KILL
check "killed meanwhile" start
check "it still waits" shows "$CRDS/widgets.example.com" deletionTimestamp
check "until nothing holds the object" is "$(curl -sS --unix-socket "$WORK/neap.sock" -X PATCH -H 'Content-Type: application/merge-patch+json' \
	-d '{"metadata":{"finalizers":null}}' -o /dev/null -w '%{http_code}' "http://localhost$WIDGETS/b")" 200
check "then it goes" eventually 5 missing "$CRDS/widgets.example.com"
check "and with it the kind" missing "$WIDGETS"

# Files.
neapd_end TERM
sed -i 's/^  scope:/  # A newer one.\n  scope:/' "$FILE"
check "with a newer file" start
check "it is taken over" is "$(annotation)" "$(sum)"
check "and told" grep -q "devices.scheduling.koordinator.sh: changed, as its file is" "$WORK/neapd.log"
neapd_end TERM
sed -i '7s/.*/  scope: [/' "$FILE"
neapd_options --roles api --policy none --share-dir "$WORK/share" --listen off
refused() { to_end "$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/refused" 2>&1; is $? 1; }
check "a damaged file stops the start" refused
check "and is named, with its line" grep -qE "crds/scheduling.koordinator.sh_devices.yaml:[0-9]+: " "$WORK/refused"
# Sources of root's, which the loop's user cannot get to.
mkdir -m 700 "$WORK/closed"
cp -r "$WORK/share" "$WORK/closed/share"
cp doc/deploy/crds/*.yaml "$WORK/closed/share/crds/"
check "files that only root can get to" start --share-dir "$WORK/closed/share"
check "are read" status GET /apis/scheduling.koordinator.sh/v1alpha1/reservations
neapd_end TERM
rm -r "$WORK/share/crds"
check "without the folder" start
check "all is served from the store" status GET /apis/scheduling.koordinator.sh/v1alpha1/devices
check "and that is told" grep -q "crds is not there" "$WORK/neapd.log"

if command -v kubectl >/dev/null; then
	define | sed '1s/{/{"apiVersion": "apiextensions.k8s.io\/v1", "kind": "CustomResourceDefinition", /' >"$WORK/crd.json"
	echo '{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "k", "namespace": "default"}}' >"$WORK/w.json"
	kube() { HOME=$WORK kubectl --kubeconfig "$WORK/data/kubeconfig" "$@"; }
	says() { has "$(kube "${@:2}" 2>&1)" "$1"; }
	check "kubectl apply" says created apply -f "$WORK/crd.json"
	check "wait" says "condition met" wait --for=condition=Established crd/widgets.example.com --timeout=10s
	check "an object right after" says created apply -f "$WORK/w.json"
	check "apply once more" says unchanged apply -f "$WORK/crd.json" -f "$WORK/w.json"
	check "explain" says "How large it is." explain widget.spec.size
	check "get" says widget.example.com/k get widgets -o name
	check "delete" says deleted delete crd widgets.example.com --timeout=10s
	check "and it is gone" not kube get widgets
else
	echo "# kubectl is not installed: without it"
fi
neapd_end TERM

tap_end
