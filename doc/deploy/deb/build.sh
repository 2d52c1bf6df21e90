#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Packs what `make install` laid out into a Debian package; called by `make deb`.
# usage: build.sh TREE VERSION OUT      TREE: DESTDIR of an installation with PREFIX=/usr;
# OUT: folder
# MAINTAINER: name and address of who answers for the package, "Name <mail address>".
set -eu
tree=${1:?usage: build.sh TREE VERSION OUT}
version=${2:?}
out=${3:?}
here=$(cd "$(dirname "$0")" && pwd)
maintainer=${MAINTAINER:-neap <neap@example.org>}
arch=$(dpkg --print-architecture)
doc=$tree/usr/share/doc/neap
# Of the same sources the same package.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(stat -c %Y "$here/../../../CHANGELOG.md")}
export SOURCE_DATE_EPOCH

strip --strip-unneeded --remove-section=.comment --remove-section=.note "$tree"/usr/sbin/* "$tree"/usr/bin/*
install -d "$tree/var/lib/neap"
mkdir -p "$tree/usr/share/zsh"
mv "$tree/usr/share/zsh/site-functions" "$tree/usr/share/zsh/vendor-completions" # where zsh of Debian looks
install -D -m 644 "$here/neap.yaml" "$tree/etc/neap/neap.yaml"
install -D -m 644 "$here/copyright" "$doc/copyright"
gzip -9n "$tree"/usr/share/man/man*/*
gzip -9nc "$here/../../../CHANGELOG.md" >"$doc/CHANGELOG.md.gz"
{
	printf 'neap (%s) unstable; urgency=medium\n\n  * Changes are listed in CHANGELOG.md.gz.\n\n' "$version"
	printf ' -- %s  %s\n' "$maintainer" "$(date -uRd "@$SOURCE_DATE_EPOCH")"
} | gzip -9n >"$doc/changelog.gz"

# dpkg-shlibdeps wants a source tree around it.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/debian"
printf 'Source: neap\n\nPackage: neap\nArchitecture: any\n' >"$work/debian/control"
absolute=$(cd "$tree" && pwd)
depends=$(cd "$work" && dpkg-shlibdeps -O "$absolute/usr/sbin/neapd" "$absolute/usr/bin/neapctl" 2>"$work/said" |
	sed -n 's/^shlibs:Depends=//p')
[ -n "$depends" ] || { cat "$work/said" >&2; exit 1; }

mkdir -p "$tree/DEBIAN"
sed -e "s|@VERSION@|$version|" -e "s|@ARCH@|$arch|" -e "s|@MAINTAINER@|$maintainer|" \
	-e "s#@DEPENDS@#$depends#" -e "s|@SIZE@|$(du -k -s --apparent-size "$tree" | cut -f 1)|" \
	"$here/control.in" >"$tree/DEBIAN/control"
echo /etc/neap/neap.yaml >"$tree/DEBIAN/conffiles"
for script in postinst prerm postrm; do
	install -m 755 "$here/$script" "$tree/DEBIAN/$script"
done
(cd "$tree" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$tree/DEBIAN/md5sums"
find "$tree" -exec touch -hcd "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Zxz --build "$tree" "$out/neap_${version}_$arch.deb" >/dev/null
echo "$out/neap_${version}_$arch.deb"
