#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The units of systemd and the scripts of the package: systemd and sh find no fault, what
# they name exists, and the configuration of the package is valid.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
tap_start

UNITS=(neapd.service neap-workloads.service neap.slice neap-batch.service neapbatch.slice)

# As installed, but with the program of this build: verify looks for it.
for unit in "${UNITS[@]}"; do
	sed "s,/usr/sbin/neapd,$PWD/$BUILD/neapd," "doc/deploy/$unit" >"$WORK/$unit"
done
verify()
{
	local said
	said=$(cd "$WORK" && systemd-analyze verify --man=no "${UNITS[@]}" 2>&1) || { echo "$said"; return 1; }
	[ -z "$said" ] || { echo "$said"; return 1; }
}
if command -v systemd-analyze >/dev/null; then
	check "systemd finds no fault with the units" verify
	sed -i 's/^WatchdogSec=.*/WatchdogSec=soon/' "$WORK/neapd.service"
	check "it would find one" not verify
	cp doc/deploy/neapd.service "$WORK/"
	exposure() { systemd-analyze security --offline=yes --threshold=35 "$WORK/neapd.service"; }
	check "exposed by 3.5 of 10 at most" exposure
else
	skip "systemd finds no fault with the units" "no systemd-analyze"
fi

# Every option that a unit or a script uses is one.
grep -rhoE 'neapd (--[a-z-]+ ?)+' doc/deploy | grep -oE -- '--[a-z-]+' | sort -u >"$WORK/options"
while read -r option; do
	known() { "$BUILD/neapd" --help | grep -qE -- "^  $1( |\$)"; }
	check "neapd has $option" known "$option"
done <"$WORK/options"
for script in postinst prerm postrm build.sh; do
	check "$script is a shell script" sh -n "doc/deploy/deb/$script"
done
check "prerm does nothing at an upgrade" env PATH=/nowhere /bin/sh doc/deploy/deb/prerm upgrade 9.9

# What is said to be a default in the file of the package is one: it may say all of it
# aloud.
sed -n 's/^#\( \{2,\}\)/\1/p; s/^#\([a-z][a-zA-Z-]*:\)/\1/; /^[a-z]/p' doc/deploy/deb/neap.yaml |
	sed "s,/etc/neap/policies.d,$WORK/policies.d,; s,reserved-cpus: .*,reserved-cpus: 0," >"$WORK/neap.yaml"
mkdir "$WORK/policies.d"
# Status 2 is for the configuration; with this folder it goes no further than that.
valid() { "$BUILD/neapd" --config "$1" --run-dir /dev/null/x; [ $? -eq 1 ]; }
check "the configuration of the package is valid" valid doc/deploy/deb/neap.yaml
check "also with everything in it" valid "$WORK/neap.yaml"
echo "nonsense: 1" >>"$WORK/neap.yaml"
check "nonsense would be found" not valid "$WORK/neap.yaml"
group=$(sed -n 's/^group: //p' doc/deploy/deb/neap.yaml)
check "its group is below the unit that is delegated" is "$group" "neap.slice/neap-workloads.service/neap"
check "which is in that slice" grep -qx 'Slice=neap.slice' doc/deploy/neap-workloads.service
group=$(sed -n 's/^best-effort-group: //p' doc/deploy/deb/neap.yaml)
check "best-effort work has a unit of its own" is "$group" "neapbatch.slice/neap-batch.service/neap"
check "in a slice of the lowest weight" grep -qx 'CPUWeight=1' doc/deploy/neapbatch.slice
check "which is no part of the other" grep -qx 'Slice=neapbatch.slice' doc/deploy/neap-batch.service
tap_end
