# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The kernel of emulated machines, sourced by what starts one. CACHE: folder where it is
# kept.

# The newest kernel that Debian has; the package is read, never installed.
find_kernel()
{
	local package deb
	KERNEL=$(find "$CACHE" -maxdepth 1 -name 'vmlinuz-*' 2>/dev/null | sort -V | tail -n 1)
	[ -z "$KERNEL" ] || return 0
	package=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null |
		sed -n 's/^ *Depends: *\(linux-image-[^ ]*\)$/\1/p' | head -n 1)
	[ -n "$package" ] || return 1
	# apt's own user writes the file.
	mkdir -p "$CACHE" && deb=$(mktemp -d "$CACHE/fetch.XXXXXX") && chmod 777 "$deb" || return 1
	(cd "$deb" && apt-get download -qq "$package" >&2 &&
		dpkg-deb --fsys-tarfile ./*.deb | tar -x --wildcards './boot/vmlinuz-*' &&
		mv boot/vmlinuz-* "$CACHE/")
	rm -rf "$deb"
	KERNEL=$(find "$CACHE" -maxdepth 1 -name 'vmlinuz-*' | sort -V | tail -n 1)
	[ -n "$KERNEL" ]
}
