#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
#
# A service manager's end of sd_notify(3): binds the socket SOCKET ("@name": abstract) and writes every
# message as one line "SECONDS line|line|..." to standard output. usage: notify.pl SOCKET
use strict;
use warnings;
use Socket;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

my $path = shift or die "usage: notify.pl SOCKET\n";
my $name = $path =~ /^@(.*)/ ? "\0$1" : $path;
socket(my $socket, AF_UNIX, SOCK_DGRAM, 0) or die "socket: $!\n";
bind($socket, pack_sockaddr_un($name)) or die "bind $path: $!\n";
chmod 0777, $path unless $path =~ /^@/;
$| = 1;
print "listening\n";
while (defined(recv($socket, my $message, 65536, 0))) {
	$message =~ s/\n/|/g;
	printf "%.3f %s\n", clock_gettime(CLOCK_MONOTONIC), $message;
}
