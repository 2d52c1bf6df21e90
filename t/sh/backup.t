#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# neapctl backup and restore of a running neapd: what comes back, what is refused, who
# may, and the way to another machine.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
tap_start

ask() # METHOD PATH [BODY]
{
	curl -sS --unix-socket "$WORK/neap.sock" -H 'Content-Type: application/json' -X "$1" \
		"http://neap$2" ${3:+-d "$3"}
}
config() # METHOD NAME TEXT
{
	local path=/api/v1/namespaces/default/configmaps
	[ "$1" = POST ] || path=$path/$2
	ask "$1" "$path" "{\"metadata\":{\"name\":\"$2\"},\"data\":{\"text\":\"$3\"}}"
}
text_of() { ask GET "/api/v1/namespaces/default/configmaps/$1" | sed -n 's/.*"text": *"\([^"]*\)".*/\1/p'; }
version() { ask GET /api/v1/configmaps | grep -o '"resourceVersion": *"[0-9]*"' | head -1 | tr -dc 0-9; }
start() # OPTION...: a neapd of the role api alone
{
	neapd_options --roles api "$@"
	"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
	eventually 10 ask GET /readyz
}

check "neapd starts" start
ask POST /api/v1/namespaces '{"metadata":{"name":"default"}}' >/dev/null
config POST a one >/dev/null
config POST b two >/dev/null

check "backup" neapctl backup "$WORK/first"
check "it says what there is" has "$(cat "$WORK/check.out")" "objects, "
check "only its owner can read it" is "$(stat -c %a "$WORK/first")" 600
check "there is nothing beside it" is "$(find "$WORK" -name 'first*' | wc -l)" 1
check "not over a file" not neapctl backup "$WORK/first"
check "and says what to do" has "$(cat "$WORK/check.out")" "--force"
check "over a file when asked to" neapctl backup --force "$WORK/first"
check "not into a folder that is not there" not neapctl backup "$WORK/none/file"
last=$(tail -n 1 "$WORK/first")
check "its last line says how many there are" has "$last" '"end":'

config PUT a changed >/dev/null
config POST c three >/dev/null
ask DELETE /api/v1/namespaces/default/configmaps/b >/dev/null
before=$(version)
check "restore" neapctl restore "$WORK/first"
check "it counts" is "$(cut -d, -f1-3 "$WORK/check.out")" "restored: 1 objects created, 1 changed, 1 deleted"
check "what was changed is as before" is "$(text_of a)" one
check "what was deleted is there again" is "$(text_of b)" two
check "what came later is gone" is "$(text_of c)" ""
check "versions go on" test "$(version)" -gt "$before"
check "the log tells of it" grep -q "restored a backup: 1 objects created" "$WORK/neapd.log"

head -c -20 "$WORK/first" >"$WORK/cut"
sed 's/two/2wo/' "$WORK/first" >"$WORK/edited"
sed '1s/"neapBackup":1/"neapBackup":9/; 1s/,"sum":"[0-9a-f]*"//' "$WORK/first" >"$WORK/newer"
config PUT a kept >/dev/null
for bad in cut:"cut off" edited:"is damaged" newer:"newer neap" ../../etc/passwd:"no backup of neap"; do
	file=$WORK/${bad%%:*}
	[ "${bad%%:*}" = ../../etc/passwd ] && file=/etc/passwd
	check "${file##*/} is refused" not neapctl restore "$file"
	check "and says why" has "$(cat "$WORK/check.out")" "${bad#*:}"
done
check "and nothing has changed" is "$(text_of a)" kept

stranger() { setpriv --reuid 65533 --regid 65533 --clear-groups "$BUILD/neapctl" --socket "$WORK/neap.sock" "$@"; }
if [ "$(id -u)" -eq 0 ]; then
	mkdir -m 777 "$WORK/theirs"
	check "strangers get no backup" not stranger backup "$WORK/theirs/file"
	check "nor anything of it" is "$(ls "$WORK/theirs")" ""
	check "and restore nothing" not stranger restore /etc/passwd
	check "and are told who may" has "$(cat "$WORK/check.out")" "has no role here"
fi

# Another machine: another folder, and a daemon without objects.
neapd_end TERM
rm -rf "$WORK/data"
check "a new neapd" start
check "has no objects" is "$(text_of a)" ""
restore_stdin() { neapctl restore - <"$WORK/first"; }
check "restores those of the other one" restore_stdin
check "as they were" is "$(text_of a) $(text_of b)" "one two"
newest=$(sed -n '1s/.*"version":\([0-9]*\).*/\1/p' "$WORK/first")
check "with versions above theirs" test "$(version)" -gt "$newest"
neapd_end TERM
check "starts again" start
check "and has them still" is "$(text_of a) $(text_of b)" "one two"

doctor() # what it says of the store; its status
{
	neapctl doctor --run-dir "$WORK/run" --data-dir "$WORK/data" --group "$GROUP" --kubepods off \
		--listen off --user nobody >"$WORK/said"
	local status=$?
	grep -F neap.db "$WORK/said"
	return "$status"
}
says() { has "$(doctor)" "$1"; }
state() { stat -c '%n %s %y' "$WORK"/data/neap.db*; }
check "doctor: one that a neapd has is left alone" says "in use by a neapd"
neapd_end KILL
before=$(state)
check "one that a killed neapd left is sound" says "is sound: "
check "and stays as it is" is "$(state)" "$before"
check "the room is told" grep -q "file system of $WORK/data has" "$WORK/said"
check "starts after the kill" start

# A file that is damaged is refused and named, with what to do.
neapd_end TERM
dd if=/dev/zero of="$WORK/data/neap.db" bs=4096 seek=1 count=2 conv=notrunc 2>/dev/null
neapd_options --roles api
check "a damaged file is refused" to_failure "$BUILD/neapd" "${OPTIONS[@]}"
check "with what to do" has "$(cat "$WORK/check.out")" "restore a backup"
before=$(state)
damaged() { doctor; is $? 1 && has "$(tr '\n' ' ' <"$WORK/said")" "neap.db is damaged"; }
check "doctor tells it too" damaged
check "and changes nothing" is "$(state)" "$before"
check "and tells the way out" has "$(cat "$WORK/said")" "neapd --new-store"
new_store() { "$BUILD/neapd" --new-store --data-dir "$WORK/data"; }
check "neapd --new-store" new_store
check "sets it aside" test -s "$WORK"/data/neap.db.2*Z
check "then it starts" start
check "and a backup brings all back" neapctl restore "$WORK/first"
check "as it was" is "$(text_of a) $(text_of b)" "one two"
in_use() { ! new_store && has "$(new_store 2>&1)" "in use by another process"; }
check "not while a neapd has it" in_use

# One that is lost is no new one.
neapd_end TERM
file_says() # FILE STATUS TEXT: doctor about one file
{
	neapctl doctor --store "$1" >"$WORK/said"
	is $? "$2" && has "$(tr -s ' \n' ' ' <"$WORK/said")" "$3"
}
before=$(state)
check "doctor --store: a file at rest" file_says "$WORK/data/neap.db" 0 "resources, format 2, version"
check "as JSON" has "$(neapctl doctor --store "$WORK/data/neap.db" -o json)" '"problems": 0'
check "an older one" file_says t/cases/store/format-1/neap.db 0 "13 objects of 5 resources, format 1, version 15"
check "a damaged one" file_says "$(echo "$WORK"/data/neap.db.2*Z)" 1 "is damaged"
check "a backup" file_says "$WORK/first" 0 "is a sound backup"
check "a damaged backup, with its line" file_says "$WORK/edited" 1 "its check sum is another"
check "one that is cut" file_says "$WORK/cut" 1 "cut off"
check "one that is not there" file_says "$WORK/none" 1 "cannot be read"
check "and nothing has changed" is "$(state)" "$before"
lost() # WHAT: it is refused
{
	neapd_options --roles api
	to_failure "$BUILD/neapd" "${OPTIONS[@]}" 2>"$WORK/err" && has "$(cat "$WORK/err")" "neap.db is $1, but there was a store"
}
mv "$WORK/data/neap.db" "$WORK/kept"
check "a missing file is refused" lost missing
check "and none is made" test ! -e "$WORK/data/neap.db"
touch "$WORK/data/neap.db"
check "so is an empty one" lost empty
rm "$WORK/data/neap.db" "$WORK/data/store"
touch "$WORK/data/kubeconfig"
check "and one of a folder of before there was a marker" lost missing
mv "$WORK/kept" "$WORK/data/neap.db"
check "put back, it starts" start
check "and has everything" is "$(text_of a) $(text_of b)" "one two"
# The filter of system calls is the same for a loop that is root.
mkdir "$WORK/root"
"$BUILD/neapd" --roles api --share-dir . --run-dir "$WORK/root/run" --data-dir "$WORK/root/data" --listen off \
	--unix-socket "$WORK/root/sock" --group "$GROUP-root" --kubepods off --user root >/dev/null 2>"$WORK/root.log" &
pid=$!
check "a loop that is root names its store, too" eventually 5 test -s "$WORK/root/data/store"
kill "$pid"
wait "$pid"
tap_end
