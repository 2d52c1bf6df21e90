#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
#
# moves.pl START LIMITS FILE...: judges descheduling by jobs from objects alone. FILEs are
# what watches of pods, Reservations, PodMigrationJobs and PodDisruptionBudgets said, a
# line an event; they are put in the order of their resource versions, and after each one
# behind START it is looked whether
# - each budget has as many healthy pods as its minAvailable says,
# - no more jobs run of a node, a workload, a namespace and in all than LIMITS say (JSON:
#   node, workload, namespace, all),
# - a pod that is told to leave has a job with a Reservation elsewhere that is Available,
# - not more pods wait for a node than Reservations have room for them.
# Prints what is wrong, and last what there was: pods that left, jobs that ended well,
# the most that ran at once.
use strict;
use warnings;
use JSON::PP;

my ($start, $limits, @files) = @ARGV;
my $json = JSON::PP->new->utf8;
$limits = $json->decode($limits);
my (%pods, %reservations, %jobs, %budgets); # by uid
my %all = (Pod => \%pods, Reservation => \%reservations, PodMigrationJob => \%jobs, PodDisruptionBudget => \%budgets);
my %seen = (left => 0, succeeded => 0, most => 0, wrong => 0);
my (%of_job, %healthy, $waiting, $room); # counted at each event

# Only what is judged, so that all events fit.
sub brief
{
	my $object = shift;
	my ($meta, $spec, $status) = @$object{qw(metadata spec status)};
	my ($ready) = grep { $_->{type} eq 'Ready' } @{$status->{conditions} // []};
	return {
		uid => $meta->{uid}, name => $meta->{name}, ns => $meta->{namespace}, labels => $meta->{labels} // {},
		leaves => defined $meta->{deletionTimestamp}, owner => $meta->{ownerReferences}[0]{uid} // '',
		node => $spec->{nodeName} // $status->{nodeName}, phase => $status->{phase} // '', is_ready => ($ready->{status} // '') eq 'True',
		users => scalar @{$status->{currentOwners} // []}, pod => $spec->{podRef}{uid},
		min => $spec->{minAvailable}, selects => $spec->{selector}{matchLabels},
	};
}

my @events;
for my $file (@files) {
	open my $in, '<', $file or die "$file: $!\n";
	while (<$in>) {
		my $event = eval { $json->decode($_) } or next; # the last may be half a line
		my $object = $event->{object};
		$all{$object->{kind}} or next;
		push @events, [$object->{metadata}{resourceVersion}, $event->{type}, $object->{kind}, brief($object)];
	}
}

sub wrong
{
	print "$_[0]: $_[1]\n" if $seen{wrong}++ < 20;
}

sub matches
{
	my ($pod, $budget) = @_;
	return $pod->{ns} eq $budget->{ns} && !grep { ($pod->{labels}{$_} // '') ne $budget->{selects}{$_} } keys %{$budget->{selects}};
}
sub count_healthy
{
	my ($pod, $by) = @_;
	return unless $pod && $pod->{is_ready} && !$pod->{leaves};
	for my $budget (values %budgets) {
		$healthy{$budget->{uid}} += $by if matches($pod, $budget);
	}
}
sub count_waiting
{
	my ($pod, $by) = @_;
	$waiting += $by if $pod && !defined $pod->{node};
}
sub has_room { my $one = shift; return $one && $one->{phase} eq 'Available' && !$one->{users}; }

# Where a job's pod is, and whose it is, when it begins to run.
sub runs
{
	my ($job, $by) = @_;
	return unless $job && $job->{phase} eq 'Running' && $job->{from};
	$of_job{$_} += $by for "node $job->{from}{node}", "workload $job->{from}{owner}", "namespace $job->{from}{ns}", 'all ';
}

sub judge_leaver
{
	my ($version, $pod) = @_;
	my ($job) = grep { ($_->{pod} // '') eq $pod->{uid} && $_->{phase} eq 'Running' } values %jobs;
	$seen{left}++;
	return wrong($version, "$pod->{name} leaves without a job that runs") unless $job;
	my ($place) = grep { $_->{name} eq $job->{uid} } values %reservations;
	wrong($version, "$pod->{name} leaves, and its Reservation is not Available elsewhere")
		unless has_room($place) && defined $place->{node} && $place->{node} ne $pod->{node};
}

($waiting, $room) = (0, 0);
for (sort { $a->[0] <=> $b->[0] } @events) {
	my ($version, $type, $kind, $new) = @$_;
	my $old = delete $all{$kind}{$new->{uid}};
	my $is_gone = $type eq 'DELETED';
	my $leaves = $kind eq 'Pod' && $old && !$old->{leaves} && ($is_gone || $new->{leaves});

	judge_leaver($version, $old) if $leaves && $version > $start;
	if ($kind eq 'PodMigrationJob') {
		$new->{from} = $old ? $old->{from} : undef;
		$new->{from} //= $pods{$new->{pod} // ''};
		runs($old, -1);
		runs($new, 1) unless $is_gone;
		$seen{succeeded}++ if $new->{phase} eq 'Succeeded' && ($old->{phase} // '') ne 'Succeeded' && !$is_gone;
		$seen{most} = $of_job{'all '} if ($of_job{'all '} // 0) > $seen{most};
	} elsif ($kind eq 'Pod') {
		count_healthy($old, -1);
		count_healthy($is_gone ? undef : $new, 1);
		count_waiting($old, -1);
		count_waiting($is_gone ? undef : $new, 1);
	} elsif ($kind eq 'Reservation') {
		$room += (!$is_gone && has_room($new) ? 1 : 0) - (has_room($old) ? 1 : 0);
	} else {
		$healthy{$new->{uid}} = grep { $_->{is_ready} && !$_->{leaves} && matches($_, $new) } values %pods;
	}
	$all{$kind}{$new->{uid}} = $new unless $is_gone;
	next unless $version > $start;
	for my $budget (values %budgets) {
		wrong($version, "budget $budget->{name}: $healthy{$budget->{uid}} of $budget->{min}") if $healthy{$budget->{uid}} < $budget->{min};
	}
	for my $what (keys %of_job) {
		wrong($version, "$of_job{$what} jobs run of $what") if $of_job{$what} > $limits->{($what =~ /^(\w+)/)[0]};
	}
	wrong($version, "$waiting pods wait, and Reservations have room for $room") if $waiting > $room;
}
print "$seen{left} left, $seen{succeeded} jobs succeeded, $seen{most} at once, $seen{wrong} wrong\n";
exit($seen{wrong} > 0);
