#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
#
# Holds up whoever opens a file: lease.pl FILE... takes a lease of each, and says "held"
# when it has them. When somebody opens one it says "asked FILE"; a line on its standard
# input lets go of the first that was asked for. The kernel ends a lease by itself after
# /proc/sys/fs/lease-break-time.
use strict;
use warnings;
use Fcntl qw(F_WRLCK F_UNLCK);

use constant { F_SETLEASE => 1024, F_GETLEASE => 1025 };

$| = 1;
$SIG{IO} = 'IGNORE';
my @held;
for my $name (@ARGV) {
	open(my $file, '<', $name) or die "$name: $!\n";
	fcntl($file, F_SETLEASE, F_WRLCK) or die "$name: no lease: $!\n";
	push @held, [$name, $file];
}
print "held\n";
while (@held) {
	my ($name, $file) = @{ shift @held };
	select(undef, undef, undef, 0.02) while (fcntl($file, F_GETLEASE, 0) || 0) == F_WRLCK;
	print "asked $name\n";
	<STDIN>;
	fcntl($file, F_SETLEASE, F_UNLCK);
	close($file);
}
