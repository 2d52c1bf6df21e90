#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# PodMigrationJobs of pods whose controller is of a kind that somebody declared: how many
# replicas it wants is what its scale subresource says, which neapd gets with a right that
# doc/deploy/rbac.yaml has as an optional one.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
export SERVER=real
. t/lib/server.sh
server_need
need_long
tap_start
. t/lib/play.sh
api() { TYPE=${TYPE:-application/json} server_send "$@"; }
server_send() { curl "${SERVER_CURL[@]}" -X "$1" "$SERVER_URL/$2" -H "Content-Type: $TYPE" "${@:3}"; }

JOBS=apis/scheduling.koordinator.sh/v1alpha1/podmigrationjobs
GAMES=apis/play.example.com/v1/namespaces/default/games
PODS=api/v1/namespaces/default/pods

# game NAME PLAYERS: with a pod of its name, which runs on node-0.
game()
{
	local uid
	uid=$(api POST "$GAMES" -d '{"apiVersion": "play.example.com/v1", "kind": "Game",
		"metadata": {"name": "'"$1"'"}, "spec": {"players": '"$2"'}}' | jq -r .metadata.uid)
	api POST "$PODS" -d '{"metadata": {"name": "'"$1"'", "ownerReferences": [{"apiVersion": "play.example.com/v1",
		"kind": "Game", "name": "'"$1"'", "uid": "'"$uid"'", "controller": true}]},
		"spec": {"nodeName": "node-0", "terminationGracePeriodSeconds": 1, "containers": [{"name": "c", "image": "i"}]}}' >/dev/null
	eventually 20 runs "$1"
}
runs() { has "$(api GET "$PODS/$1" | jq -c '.status.conditions')" '"type":"Ready"'; }
is_served() { has "$(api GET apis/play.example.com/v1/games)" GameList; }
# job NAME PHASE REASON: of that pod, and how it ends.
job()
{
	api POST "$JOBS" -d '{"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "PodMigrationJob",
		"metadata": {"name": "'"$1"'"}, "spec": {"ttl": "5m", "mode": "EvictDirectly",
		"podRef": {"namespace": "default", "name": "'"$1"'"}}}' >/dev/null
	eventually 40 ended "$@"
}
ended() { is "$(api GET "$JOBS/$1" | jq -r '"\(.status.phase) \(.status.reason // "")"')" "$2 $3"; }
gone() { has "$(api GET "$PODS/$1")" NotFound; }

check "the server starts" server_start neap-descheduler || tap_end
server_kube apply -f - >/dev/null <<YAML
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: games.play.example.com}
spec:
  group: play.example.com
  scope: Namespaced
  names: {plural: games, singular: game, kind: Game, listKind: GameList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {scale: {specReplicasPath: .spec.players, statusReplicasPath: .status.players}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
YAML
check "a kind with a scale" eventually 30 is_served
for node in node-0 node-1; do play_node 8 $node; done
play
trap 'play_end; peers_end; tap_cleanup' EXIT
for name in one four early; do check "a game, and a pod of it: $name" game "$name" "$([ "$name" = one ] && echo 1 || echo 4)"; done
mkdir -p "$WORK/own" && chmod 1777 "$WORK/own"
own_start()
{
	peer_start neapd "$BUILD/neapd" --run-dir "$WORK/own/run" --data-dir "$WORK/own/data" --unix-socket "$WORK/neap.sock" \
		--share-dir . --user nobody --policy none --listen off --roles descheduler --kubeconfig "$WORK/neap-descheduler.config" \
		--leader-elect-lease-duration 3s --leader-elect-renew-deadline 2s --leader-elect-retry-period 500ms "$@"
	check "neapd reads the cluster" eventually 30 server_ready
}
own_start

check "without the right nobody knows how many there are" job early Failed ForbiddenMigratePod
check "the log says what is missing" grep -q 'scale of Game default/early: .*forbidden' "$WORK/neapd.log"
server_kube create clusterrole games --verb get --resource games.play.example.com/scale >/dev/null
server_bind neap-descheduler games
check "with it, a pod of four leaves" job four Succeeded ""
check "... which is gone" eventually 20 gone four
check "the only one stays" job one Failed ForbiddenMigratePod
check "... and runs" runs one

# --- rounds ---

for name in many lone; do check "a game for rounds, and a pod of it: $name" game "$name" "$([ "$name" = lone ] && echo 1 || echo 4)"; done
peer_end neapd
cat >"$WORK/rounds.yaml" <<YAML
apiVersion: descheduler/v1alpha2
kind: DeschedulerConfiguration
deschedulingInterval: 2s
profiles:
- name: p
  pluginConfig:
  - name: PodLifeTime
    args: {maxPodLifeTimeSeconds: 1}
  - name: MigrationController
    args: {defaultJobMode: EvictDirectly}
  plugins:
    deschedule: {enabled: [{name: PodLifeTime}]}
    evict: {enabled: [{name: MigrationController}]}
YAML
chmod 644 "$WORK/rounds.yaml"
own_start --descheduler-config "$WORK/rounds.yaml"
check "rounds learn it, too: a pod of four leaves" eventually 60 gone many
rounds() { neapctl deschedule -o json | jq .rounds; }
has_more() { [ "$(rounds)" -ge $(($1 + 3)) ]; }
check "some more rounds" eventually 60 has_more "$(rounds)"
check "the only one stays" runs lone
play_end
tap_end
