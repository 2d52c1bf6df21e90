#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs tests on a real kernel of their own: a machine in qemu with cgroup v2 only, 16 CPUs
# (2 sockets of 4 cores of 2 threads) and 2 memory nodes. For what this machine may not
# have or not allow.
# usage: t/vm/run.sh PROGRAM...      paths as t/run-tests.sh takes: BUILD/t/test_x,
# t/sh/x.t
#        t/vm/run.sh --shell COMMAND     a shell command in the machine, output as it
#        comes
# Prints TAP of each, last "N passed, N failed[, N skipped]". BUILD: the built programs.
# NEAP_VM_CACHE: folder for the kernel (not in the tree). NEAP_VM_LIMIT: seconds for the
# whole run. NEAP_TEST_SLOW: factor on the time that tests wait, as the emulator is slow.
# Needs no KVM: always emulated, which is the same everywhere.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
CACHE=${NEAP_VM_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/neap-vm}
LIMIT=${NEAP_VM_LIMIT:-900}
SLOW=${NEAP_TEST_SLOW:-4}
APPLETS="[ awk basename cat chmod chown cmp cp cut date dd diff dirname dmesg echo env expr false find
	grep head hostname id ip kill ln ls mkdir mktemp mount mv nproc printf ps pwd readlink realpath
	rm rmdir sed seq sha256sum sleep sort stat su tail taskset tee test timeout touch tr true tty umount uname
	uniq wc which xargs yes"

skip()
{
	echo "1..0 # SKIP $1"
	echo "0 passed, 0 failed, ${#programs[@]} skipped"
	exit 0
}

shell=
if [ "${1:-}" = --shell ]; then
	shift
	shell=$*
	programs=()
else
	programs=("$@")
	[ $# -gt 0 ] || { sed -n '5,7s/^# //p' "$0" >&2; exit 2; }
fi

t/deps.sh vm >&2 || skip "no qemu, and it could not be installed"
command -v qemu-system-x86_64 >/dev/null || skip "no qemu for x86"

. t/vm/kernel.sh
find_kernel || skip "no Debian kernel package to be had"

WORK=$(mktemp -d "${TMPDIR:-/tmp}/neap-vm.XXXXXX") || exit 1
ROOT=$WORK/root
QEMU=
cleanup()
{
	[ -z "$QEMU" ] || kill -9 "$QEMU" 2>/dev/null
	rm -rf "$WORK"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

# Libraries at the paths where the loader looks for them.
with_libraries()
{
	ldd "$@" 2>/dev/null | grep -o '/[^ :]* (0x' | sed 's/ (0x//' | grep -v '/libneap.so$' | sort -u |
		while read -r library; do
			[ -e "$ROOT/$library" ] && continue
			mkdir -p "$ROOT/$(dirname "$library")" && cp -L "$library" "$ROOT/$library"
		done
}

# The tree of the machine. No device nodes: the kernel brings /dev/console, init mounts
# the rest.
build_root()
{
	local applet program files list=()
	mkdir -p "$ROOT"/{bin,usr/bin,sbin,proc,sys,dev,tmp,run,etc,neap/build} || return 1
	cp /usr/bin/busybox "$ROOT/bin/busybox" && cp /bin/bash /usr/bin/nice "$ROOT/bin/" || return 1
	for applet in $APPLETS sh; do ln -s busybox "$ROOT/bin/$applet"; done
	ln -s ../../bin/env "$ROOT/usr/bin/env"
	printf 'root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n' >"$ROOT/etc/passwd"
	printf 'root:x:0:\nnogroup:x:65534:\n' >"$ROOT/etc/group"

	cp -r t policies Makefile "$ROOT/neap/" || return 1
	mkdir -p "$ROOT/neap/doc/deploy" && cp -r doc/deploy/crds "$ROOT/neap/doc/deploy/" || return 1
	[ ! -d lua/runtime ] || { mkdir "$ROOT/neap/lua" && cp -r lua/runtime "$ROOT/neap/lua/"; }
	mkdir -p "$ROOT/neap/build/t"
	cp "$BUILD/t/vm/exit" "$ROOT/neap/exit" && cp "$BUILD/neapd" "$BUILD/libneap.so" "$ROOT/neap/build/" || return 1
	files=("$BUILD/t/vm/exit" "$BUILD/neapd" /bin/bash /usr/bin/nice)
	if command -v curl >/dev/null; then # what needs it skips without
		cp -L "$(command -v curl)" "$ROOT/usr/bin/curl" || return 1
		files+=("$ROOT/usr/bin/curl")
	fi
	if [ -x "$BUILD/neapctl" ]; then
		cp "$BUILD/neapctl" "$ROOT/neap/build/" || return 1
		files+=("$BUILD/neapctl")
	fi
	mkdir -p "$ROOT/neap/build/t/bench" "$ROOT/neap/build/t/chaos"
	for program in bench/make_groups chaos/watch chaos/strike; do
		cp "$BUILD/t/$program" "$ROOT/neap/build/t/$program" || return 1
		files+=("$BUILD/t/$program")
	done
	for program in ${programs[@]+"${programs[@]}"}; do
		case $program in
		*.t) list+=("$program") ;;
		*)
			cp "$program" "$ROOT/neap/build/t/" || return 1
			list+=("build/t/$(basename "$program")")
			files+=("$program")
			;;
		esac
	done
	[ ${#list[@]} -eq 0 ] || printf '%s\n' "${list[@]}" >"$ROOT/neap/list"
	with_libraries "${files[@]}"
	{
		echo "export BUILD=build SAN='${SAN:-}' NEAP_TEST_HOTPLUG=1 NEAP_TEST_CLOCK=1 NEAP_SLOWNESS=20"
		echo "export NEAP_TEST_SLOW=$SLOW NEAP_TEST_TIMEOUT=$((60 * SLOW))"
		env | grep '^CHAOS_' | sed 's/^/export /'
		[ -z "$shell" ] || printf '%s\n' "$shell" 'exec /neap/exit $?'
	} >"$ROOT/neap/environment"
	cp t/vm/init "$ROOT/init" && chmod 755 "$ROOT/init"
	# Not packed: reading a packed one takes the emulator longer.
	(cd "$ROOT" && find . | cpio -o -H newc --owner=0:0 2>/dev/null) >"$WORK/initrd"
}
build_root || { echo "vm: the file system of the machine could not be built" >&2; exit 1; }

# One machine at a time, whoever asks: they would only starve each other.
exec 9>"$CACHE/lock"
flock -w "$LIMIT" 9 || { echo "vm: another machine runs for more than $LIMIT s" >&2; exit 1; }

# Haswell: the emulator's own models show no threads. KVM is not asked for: it differs
# between hosts.
timeout -k 5 "$LIMIT" qemu-system-x86_64 -nodefaults -machine q35 -accel tcg,thread=multi -cpu Haswell \
	-m 2G -smp 16,sockets=2,cores=4,threads=2 \
	-object memory-backend-ram,id=m0,size=1G -object memory-backend-ram,id=m1,size=1G \
	-numa node,nodeid=0,cpus=0-7,memdev=m0 -numa node,nodeid=1,cpus=8-15,memdev=m1 \
	-kernel "$KERNEL" -initrd "$WORK/initrd" \
	-append "console=ttyS0 quiet loglevel=1 panic=-1 mitigations=off no_timer_check" \
	-display none -vga none -serial stdio -no-reboot -net none \
	-device isa-debug-exit,iobase=0x501,iosize=1 </dev/null >"$WORK/console" 2>"$WORK/qemu.log" 9>&- &
QEMU=$!

wait "$QEMU"
status=$?
QEMU=
tr -d '\r' <"$WORK/console" >"$WORK/text"
if [ -n "$shell" ]; then
	cat "$WORK/text"
	[ "$status" -eq 1 ]
	exit
fi

# What came between the marks; what has no end mark died with the machine.
awk -v status=$status '
	/=== BEGIN / { sub(/^.*=== BEGIN /, ""); name = $0; inside = 1; print "# " name; next }
	/^=== END / { inside = 0; print "# " $3 ": " $5 " s"
		if ($4) { bad++; if (!f[$3]) extra++ }; next }
	!inside { next }
	{ print }
	/^not ok/ { failed++; f[name]++ }
	/^ok .*[^\\]# SKIP / {
		skipped++
		sub(/^ok [0-9]+ - /, "")
		sub(/ # SKIP /, ": ")
		short = name
		sub(/^.*\//, "", short) # as t/run-tests.sh tells them
		why[skipped] = short ": " $0
		next
	}
	/^ok/ { passed++ }
	END {
		if (inside) { print "not ok - " name ": the machine ended in it"; failed++ }
		else if (status != 1 && status != 3) {
			print "not ok - the machine ended without a verdict (" status ")"; failed++ }
		failed += extra
		if (skipped) print "Skipped:"
		for (i = 1; i <= skipped; i++) print "  " why[i]
		printf "%d passed, %d failed%s\n", passed, failed, skipped ? ", " skipped " skipped" : ""
		exit failed > 0
	}' "$WORK/text"
verdict=$?
if [ "$status" -ne 1 ] && [ "$status" -ne 3 ]; then
	{ tail -n 20 "$WORK/text"; grep -v "doesn't support requested feature" "$WORK/qemu.log"; } >&2
	verdict=1
fi
exit $verdict
