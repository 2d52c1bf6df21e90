#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
#
# kubelets.pl SOCKET [NODE]: plays the kubelets of all nodes for the server behind that
# socket, until it is killed. Pods that are bound run and are ready, but for those with
# the label "sick"; pods that are being deleted end. With NODE it binds pods, too: to the
# node that their affinity names, or to that one. Pods with the label "uses" use so many
# CPUs ("800m"), which a NodeMetric of their node reports every second.
use strict;
use warnings;
use IO::Select;
use IO::Socket::UNIX;
use JSON::PP;
use POSIX qw(strftime);
use Time::HiRes qw(time);

my ($path, $node) = @ARGV;
my $json = JSON::PP->new->utf8;

sub send_request
{
	my ($method, $to, $type, $body) = @_;
	my $socket = IO::Socket::UNIX->new(Peer => $path) or return;
	$body = defined $body ? $json->encode($body) : '';
	print $socket "$method $to HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: $type\r\n" .
		'Content-Length: ' . length($body) . "\r\n\r\n$body";
	$socket->flush;
	return $socket;
}
# The status of the answer; undef without one.
sub ask
{
	my $socket = send_request(@_) or return;
	local $/;
	return (<$socket> // '') =~ /^HTTP\S+ (\d+)/ ? $1 : undef;
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
# What its kubelet does with a pod now: the request, or nothing.
sub turn
{
	my $pod = shift;
	my $meta = $pod->{metadata};
	my $one = "/api/v1/namespaces/$meta->{namespace}/pods/$meta->{name}";
	if ($meta->{deletionTimestamp}) {
		return 'DELETE', $one, 'application/json', {gracePeriodSeconds => 0, preconditions => {uid => $meta->{uid}}};
	} elsif (defined $node && !$pod->{spec}{nodeName}) {
		return 'POST', "$one/binding", 'application/json', {apiVersion => 'v1', kind => 'Binding',
			metadata => {name => $meta->{name}}, target => {apiVersion => 'v1', kind => 'Node', name => wanted($pod) // $node}};
	} elsif ($pod->{spec}{nodeName} && $pod->{status}{phase} eq 'Pending' && !exists $meta->{labels}{sick}) {
		return 'PATCH', "$one/status", 'application/merge-patch+json', {metadata => {uid => $meta->{uid}}, status => \%running};
	}
	return;
}

# By uid; when each is to be looked at; nodes that have a NodeMetric.
my (%pods, %due, %reported);
# A pod takes so long to end: a kubectl that waits for that and sees one of the same name
# before it has looked waits for ever.
my $end = 0.3;

sub take
{
	my ($type, $pod) = @{$_[0]}{qw(type object)};
	my $uid = $pod->{metadata}{uid} // return; # an error, or a bookmark
	delete @$_{$uid} for \%pods, \%due;
	return if $type eq 'DELETED';
	$pods{$uid} = $pod;
	$due{$uid} = time + ($pod->{metadata}{deletionTimestamp} ? $end : 0);
}

sub milli { my ($text) = @_; return $text =~ /^(\d+)m$/ ? $1 : $text * 1000; }
sub report
{
	my %nodes;
	for my $pod (values %pods) {
		my $uses = $pod->{metadata}{labels}{uses} // next;
		push @{$nodes{$pod->{spec}{nodeName}}}, $pod if $pod->{spec}{nodeName};
	}
	$reported{$_} //= 0 for keys %nodes;
	for my $name (keys %reported) {
		my (@each, $sum);
		for my $pod (@{$nodes{$name}}) {
			$sum += milli($pod->{metadata}{labels}{uses});
			push @each, {%{$pod->{metadata}}{qw(name namespace)}, podUsage => {resources => {cpu => $pod->{metadata}{labels}{uses}, memory => '64Mi'}}};
		}
		my $of = '/apis/slo.koordinator.sh/v1alpha1/nodemetrics';
		$reported{$name} ||= ask('POST', $of, 'application/json', {apiVersion => 'slo.koordinator.sh/v1alpha1', kind => 'NodeMetric',
			metadata => {name => $name}, spec => {}});
		ask('PATCH', "$of/$name/status", 'application/merge-patch+json', {status => {updateTime => strftime('%Y-%m-%dT%H:%M:%SZ', gmtime(int(time))),
			nodeMetric => {nodeUsage => {resources => {cpu => ($sum // 0) . 'm', memory => '1Gi'}}}, podsMetric => \@each}});
	}
}

my ($watch, $raw, $lines, $is_open) = (undef, '', '', 0);
my $next = 0;
while (1) {
	if (!$watch) {
		$watch = send_request('GET', '/api/v1/pods?watch=1', 'application/json');
		($raw, $lines, $is_open) = ('', '', 0);
		(%pods, %due) = ();
	}
	if (!$watch) {
		select undef, undef, undef, 0.1;
	} elsif (IO::Select->new($watch)->can_read(%due ? 0.02 : 0.1)) {
		$watch = undef unless sysread $watch, $raw, 1 << 20, length $raw;
	}
	$is_open ||= $raw =~ s/^.*?\r\n\r\n//s;
	# Chunks, whole ones alone; then lines.
	while ($is_open && $raw =~ /^([0-9a-f]+)\r\n/i && length($raw) >= length($&) + hex($1) + 2) {
		$lines .= substr $raw, length($&), hex($1);
		substr($raw, 0, length($&) + hex($1) + 2) = '';
	}
	take($json->decode($1)) while $lines =~ s/^(.*)\n//;
	for my $uid (grep { $due{$_} <= time } keys %due) {
		my @request = turn($pods{$uid});
		# Done, or the pod is gone; else it is tried again.
		delete $due{$uid} if !@request || (ask(@request) // 500) =~ /^(2|404)/;
	}
	if (time >= $next) {
		report();
		$next = time + 1;
	}
}
