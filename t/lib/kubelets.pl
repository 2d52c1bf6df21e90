#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
#
# kubelets.pl SOCKET [NODE]: plays the kubelets of all nodes for the server behind that
# socket, until it is killed. Pods that are bound run and are ready, but for those with
# the label "sick"; pods that are being deleted end. With NODE it binds pods, too: to the
# node that their affinity names, or to that one.
use strict;
use warnings;
use IO::Socket::UNIX;
use JSON::PP;

my ($path, $node) = @ARGV;

# The answer, decoded; undef where there is none.
sub ask
{
	my ($method, $to, $type, $body) = @_;
	my $socket = IO::Socket::UNIX->new(Peer => $path) or return;
	$body = defined $body ? encode_json($body) : '';
	print $socket "$method $to HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: $type\r\n" .
		'Content-Length: ' . length($body) . "\r\n\r\n$body";
	local $/;
	my $answer = <$socket>;
	return unless defined $answer && $answer =~ /^HTTP\S+ 2.*?\r\n\r\n(.*)/s;
	my $text = $1;
	if ($answer =~ /^transfer-encoding: *chunked/im) {
		my $whole = '';
		$whole .= $1 eq '0' ? '' : substr($text, 0, hex($1) + 2, '') =~ s/\r\n\z//r while $text =~ s/^([0-9a-f]+)\r\n//i;
		$text = $whole;
	}
	return eval { decode_json($text) };
}

# The node that the affinity of a pod names.
sub wanted
{
	my $at = shift;
	for my $member (qw(spec affinity nodeAffinity requiredDuringSchedulingIgnoredDuringExecution nodeSelectorTerms)) {
		$at = $at->{$member} // return;
	}
	return eval { $at->[0]{matchFields}[0]{values}[0] };
}

my %running = (phase => 'Running', conditions => [{type => 'Ready', status => 'True', lastTransitionTime => '2026-01-01T00:00:00Z'}]);
while (1) {
	for my $pod (@{(ask('GET', '/api/v1/pods', 'application/json') // {})->{items} // []}) {
		my $meta = $pod->{metadata};
		my $one = "/api/v1/namespaces/$meta->{namespace}/pods/$meta->{name}";
		if ($meta->{deletionTimestamp}) {
			ask('DELETE', $one, 'application/json', {gracePeriodSeconds => 0, preconditions => {uid => $meta->{uid}}});
		} elsif (defined $node && !$pod->{spec}{nodeName}) {
			ask('POST', "$one/binding", 'application/json', {apiVersion => 'v1', kind => 'Binding',
				metadata => {name => $meta->{name}}, target => {apiVersion => 'v1', kind => 'Node', name => wanted($pod) // $node}});
		} elsif ($pod->{spec}{nodeName} && $pod->{status}{phase} eq 'Pending' && !exists $meta->{labels}{sick}) {
			ask('PATCH', "$one/status", 'application/merge-patch+json', {metadata => {uid => $meta->{uid}}, status => \%running});
		}
	}
	select undef, undef, undef, 0.1;
}
