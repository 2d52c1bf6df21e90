#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The Debian package in a Debian of its own: built twice with rising versions; installed,
# upgraded, removed and purged in a debootstrap tree without systemd; then that tree is
# booted in qemu with systemd as init and cgroup v2, and t/deb/inside.sh goes through the
# life of the service there. TAP, and last "N passed, N failed". BUILD: where the packages
# are built. NEAP_CACHE: folder of the tree and the kernel. NEAP_VM_LIMIT: seconds for the
# machine. usage: t/deb/run.sh [chroot|boot]
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
CACHE=${NEAP_CACHE:-/var/cache/neap-test}
MIRROR=${NEAP_MIRROR:-http://deb.debian.org/debian}
LIMIT=${NEAP_VM_LIMIT:-900}
PARTS=${*:-chroot boot}
NEW=9.9.9

skip()
{
	echo "1..0 # SKIP $1"
	echo "0 passed, 0 failed, 1 skipped"
	exit 0
}
[ "$(id -u)" -eq 0 ] || skip "needs root"
command -v debootstrap >/dev/null || skip "no debootstrap"
command -v qemu-system-x86_64 >/dev/null || skip "no qemu for x86"
command -v lintian >/dev/null || skip "no lintian"
mkdir -p "$CACHE" || exit 1
. t/vm/kernel.sh
find_kernel || skip "no Debian kernel package to be had"

WORK=$(mktemp -d "${TMPDIR:-/tmp}/neap-deb.XXXXXX") || exit 1
TREE=$WORK/tree
QEMU=
cleanup()
{
	[ -z "$QEMU" ] || kill -9 "$QEMU" 2>/dev/null
	umount "$TREE/proc" 2>/dev/null
	rm -rf "$WORK"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

N=0 FAILED=0
check()
{
	local name=$1
	shift
	N=$((N + 1))
	if "$@" >"$WORK/out" 2>&1; then
		echo "ok $N - $name"
	else
		echo "not ok $N - $name"
		{ echo "command: $*"; tail -n 30 "$WORK/out"; } | sed 's/^/# /'
		FAILED=$((FAILED + 1))
	fi
}
finish()
{
	echo "1..$N"
	echo "$((N - FAILED)) passed, $FAILED failed"
	[ "$FAILED" -eq 0 ]
	exit
}

# --- the packages ---
package() { make --no-print-directory O="$BUILD" VERSION="$1" deb >"$WORK/deb.log" 2>&1; }
built() { sed -n 's/^ *Version: *//p' <(dpkg-deb -I "$1"); }
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
version=$(make -pn --no-print-directory help 2>/dev/null | sed -n 's/^VERSION := //p')
arch=$(dpkg --print-architecture)
OLD_DEB=$BUILD/neap_${version}_$arch.deb
NEW_DEB=$BUILD/neap_${NEW}_$arch.deb
check "the package is built" package "$version"
check "and one with a higher version" package "$NEW"
[ "$FAILED" -eq 0 ] || { tail -n 20 "$WORK/deb.log" | sed 's/^/# /'; finish; }
check "its version is in it" test "$(built "$NEW_DEB")" = "$NEW"
lints() { lintian --allow-root --fail-on error,warning "$1"; }
check "lintian is content" lints "$OLD_DEB"

# --- the tree --- With what the package depends on, as the machine has no network. Made
# anew when that changes.
depends=$(dpkg-deb -f "$OLD_DEB" Depends | sed 's/([^)]*)//g; s/|[^,]*//g; s/ //g')
list=systemd,systemd-sysv,$depends
name=bookworm-$arch-$(printf %s "$list" | sha256sum | cut -c 1-8)
if [ ! -e "$CACHE/$name.tar" ]; then
	rm -rf "$WORK/new" && mkdir "$WORK/new"
	debootstrap --variant=minbase --include="$list" bookworm "$WORK/new" "$MIRROR" >"$WORK/debootstrap" 2>&1 ||
		{ tail -n 5 "$WORK/debootstrap" >&2; skip "no Debian archive to be reached"; }
	# What neither dpkg nor systemd needs.
	rm -rf "$WORK"/new/var/cache/apt/* "$WORK"/new/var/lib/apt/lists/* "$WORK"/new/usr/share/{doc,man,locale,info}/* \
		"$WORK"/new/usr/lib/udev/hwdb* "$WORK"/new/var/log/*.log
	tar -C "$WORK/new" -cf "$CACHE/$name.new" . && mv "$CACHE/$name.new" "$CACHE/$name.tar"
	rm -rf "$WORK/new"
fi
mkdir "$TREE" && tar -C "$TREE" -xf "$CACHE/$name.tar" || exit 1
install -m 644 "$OLD_DEB" "$TREE/old.deb" && install -m 644 "$NEW_DEB" "$TREE/new.deb"

# --- without systemd ---
# Files, with what is in those of /etc; without what dpkg and useradd keep for themselves.
inventory()
{
	(cd "$TREE" && find . -xdev \( -path ./proc -o -path ./run/systemd -o -path ./var/lib/dpkg -o -path ./var/cache -o -path ./var/log \) -prune \
		-o -name '*-' -o -path ./etc/.pwd.lock -o -printf '%y %m %u %p %l\n' | sort
	cd "$TREE/etc" && find . -type f ! -name '*-' ! -name ld.so.cache -exec sha256sum {} + | sort -k 2)
}
within() { DEBIAN_FRONTEND=noninteractive LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$TREE" "$@"; }
part_chroot()
{
	mount -t proc proc "$TREE/proc" || exit 1
	inventory >"$WORK/before"
	check "installs without systemd" within dpkg -i /old.deb
	check "neapd runs" test "$(within neapd --version)" = "neapd $version"
	check "so does neapctl" within neapctl --version
	valid() { within neapd --run-dir /dev/null/x; [ $? -eq 1 ]; } # 2: a wrong configuration
	check "its configuration is valid" valid
	check "it has its definitions" test -f "$TREE/usr/share/neap/crds/scheduling.koordinator.sh_reservations.yaml"
	check "the user is there" within getent passwd neap
	check "the service is enabled" test -L "$TREE/etc/systemd/system/multi-user.target.wants/neapd.service"
	check "systemd finds no fault with the units" within systemd-analyze verify --man=no neapd.service \
		neap-workloads.service neap.slice neap-batch.service neapbatch.slice
	inventory >"$WORK/installed"
	check "installed once more: nothing else" within dpkg -i /old.deb
	inventory >"$WORK/again"
	check "no file differs" diff "$WORK/installed" "$WORK/again"
	echo "# mine" >>"$TREE/etc/neap/neap.yaml"
	mkdir -p "$TREE/var/lib/neap/policies"
	check "upgrades" within dpkg -i /new.deb
	check "to the new version" test "$(within neapd --version)" = "neapd $NEW"
	check "the configuration stays as it was changed" grep -qx "# mine" "$TREE/etc/neap/neap.yaml"
	check "removes" within dpkg -r neap
	check "the programs are gone" test ! -e "$TREE/usr/sbin/neapd" -a ! -e "$TREE/usr/share/neap"
	check "configuration and data stay" test -e "$TREE/etc/neap/neap.yaml" -a -d "$TREE/var/lib/neap"
	check "purges" within dpkg -P neap
	inventory >"$WORK/after"
	check "nothing is left, and nothing of others is gone" diff "$WORK/before" "$WORK/after"
	umount "$TREE/proc"
}

# --- with systemd ---
part_boot()
{
	local status unit
	cp t/deb/inside.sh "$TREE/inside.sh" && install -m 755 "$BUILD/t/vm/exit" "$TREE/exit" || exit 1
	cp t/deb/neap-test.service t/deb/neap-test.target "$TREE/etc/systemd/system/"
	for unit in systemd-udevd.service systemd-udev-trigger.service systemd-udevd-{control,kernel}.socket \
		systemd-firstboot.service systemd-machine-id-commit.service systemd-binfmt.service \
		systemd-modules-load.service kmod-static-nodes.service systemd-random-seed.service \
		systemd-update-utmp.service systemd-remount-fs.service systemd-timesyncd.service \
		systemd-journal-flush.service systemd-pcrphase{,-sysinit}.service apt-daily.timer dpkg-db-backup.timer \
		dev-hugepages.mount dev-mqueue.mount proc-sys-fs-binfmt_misc.automount systemd-sysusers.service \
		sys-{kernel-debug,kernel-tracing,kernel-config,fs-fuse-connections}.mount; do
		ln -sf /dev/null "$TREE/etc/systemd/system/$unit"
	done
	ln -sf sbin/init "$TREE/init"
	echo neap-deb >"$TREE/etc/hostname"
	echo "0123456789abcdef0123456789abcdef" >"$TREE/etc/machine-id"
	printf '[Manager]\nShowStatus=no\nDefaultTimeoutStopSec=10s\n' >"$TREE/etc/systemd/system.conf"
	(cd "$TREE" && find . | cpio -o -H newc --quiet) >"$WORK/initrd" || exit 1
	exec 9>"$CACHE/lock"
	flock -w "$LIMIT" 9 || { echo "deb: another machine runs for more than $LIMIT s" >&2; exit 1; }
	timeout -k 5 "$LIMIT" qemu-system-x86_64 -nodefaults -machine q35 -accel tcg,thread=multi -cpu Haswell \
		-m 2G -smp 2 -kernel "$KERNEL" -initrd "$WORK/initrd" \
		-append "console=ttyS0 quiet loglevel=0 panic=-1 mitigations=off systemd.unit=neap-test.target systemd.log_color=0" \
		-display none -vga none -serial stdio -no-reboot -net none \
		-device isa-debug-exit,iobase=0x501,iosize=1 </dev/null >"$WORK/console" 2>"$WORK/qemu.log" 9>&- &
	QEMU=$!
	wait "$QEMU"
	status=$?
	QEMU=
	exec 9>&-
	tr -d '\r' <"$WORK/console" >"$WORK/text"
	[ -z "${NEAP_VM_CONSOLE:-}" ] || cp "$WORK/text" "$NEAP_VM_CONSOLE"
	grep -E '^((not )?ok - |#)' "$WORK/text" >"$WORK/tap"
	while read -r line; do
		case $line in
		ok\ *) N=$((N + 1)); echo "ok $N - in the machine: ${line#ok - }" ;;
		not\ *) N=$((N + 1)); FAILED=$((FAILED + 1)); echo "not ok $N - in the machine: ${line#not ok - }" ;;
		*) echo "$line" ;;
		esac
	done <"$WORK/tap"
	# 3: with failures, which are counted above.
	check "the machine came to its end" test "$status" -eq 1 -o "$status" -eq 3
	[ "$status" -eq 1 ] || [ "$status" -eq 3 ] ||
		{ tail -n 40 "$WORK/text"; grep -v "support requested feature" "$WORK/qemu.log"; } | sed 's/^/# /'
}

for part in $PARTS; do
	case $part in
	chroot | boot) "part_$part" ;;
	*) echo "no part $part: chroot, boot" >&2; exit 2 ;;
	esac
done
finish
