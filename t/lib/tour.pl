#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
#
# Types the commands of a written tour, one after the other, and compares what they print and their exit
# status with what stands there; one line of TAP a command, without numbers and plan. Empty lines do not count,
# runs of blanks inside a line count as two. A tour is a text:
#
#   # a remark
#   $ command              to be typed; '> ' goes on with its text
#   output                 stdout and stderr, as they come
#   [1]                    its exit status, where that is not 0
#   ...                    any lines, or none
#   {>=1.27} line          a line, or a whole command, for these versions of kubectl alone (< and >= , {>=1.24,<1.30})
#   ~regular expression    a line
#
# What differs from run to run is masked on the side of the output, see t/lib/shown.pl.
#
# tour.pl VERSION WORK FILE...   runs them; the environment holds PATH, HOME, KUBECONFIG and SERVER. The texts are those
# of kubectl 1.20 and 1.27 to 1.33; of others, and of a VERSION that ends in '~', only the status is compared.
# With NEAP_TOUR_RECORD=1 it writes a tour anew, with what came, to WORK/FILE.new.
use strict;
use warnings;
use FindBin;
require "$FindBin::Bin/shown.pl";

my ($version, $work, @files) = @ARGV;
my $server = $ENV{SERVER} // 'https://127.0.0.1';
my ($minor) = $version =~ /^1\.(\d+)/ or die "tour.pl: no version: $version\n";
my $knows_text = $version !~ /~$/ && ($minor == 20 || ($minor >= 27 && $minor <= 33));
my $bad = 0;

sub applies
{
	for my $one (split /,/, shift) {
		my ($how, $than) = $one =~ /^(<|>=)1\.(\d+)$/ or die "tour.pl: no condition: {$one}\n";
		return 0 if $how eq '<' ? $minor >= $than : $minor < $than;
	}
	return 1;
}

# The commands of a file: line, command, wanted lines, wanted status; and the text as it stood before each.
sub steps
{
	my ($file) = @_;
	my (@steps, $step);
	open my $in, '<', $file or die "tour.pl: $file: $!\n";
	while (my $line = <$in>) {
		chomp $line;
		my $raw = $line;
		my $here = 1;
		if ($line =~ s/^\{([<>=1.0-9,]+)\} //) { $here = applies($1); }
		if ($line =~ s/^\$ //) {
			push @steps, $step = {line => $., text => $line, want => [], status => 0, here => $here,
				raw => [$raw], mine => [], remarks => []};
		} elsif (!$step || $line =~ /^#/) {
			push @{$step ? $step->{remarks} : []}, $raw;
			push @steps, $step = {line => $., text => undef, raw => [$raw], remarks => []} unless $step;
		} elsif ($line =~ s/^> //) {
			$step->{text} .= "\n$line" if defined $step->{text};
			push @{$step->{raw}}, $raw;
		} elsif (defined $step->{text}) {
			push @{$step->{mine}}, $raw;
			if (!$here || $line eq '') { next; }
			if ($line =~ /^\[(\d+)\]$/) { $step->{status} = $1; }
			else {
				$line =~ s/(?<=\S)[ \t]{2,}/  /g unless $line =~ /^~/;
				push @{$step->{want}}, $line;
			}
		}
	}
	return @steps;
}

for my $file (@files) {
	my $new = '';
	my ($name) = $file =~ m{([^/]+)$};
	for my $step (steps($file)) {
		if (!defined $step->{text} || !$step->{here}) {
			$new .= join "\n", @{$step->{raw}}, @{$step->{mine} // []}, '';
			$new .= join "\n", @{$step->{remarks}}, '', '' if @{$step->{remarks}};
			next;
		}
		my $pid = open my $out, '-|';
		if (!$pid) {
			open STDERR, '>&', \*STDOUT;
			open STDIN, '<', '/dev/null';
			chdir $work or die "$work: $!\n";
			exec 'timeout', '30', 'bash', '-c', $step->{text};
		}
		local $/ = undef;
		my $text = <$out>;
		close $out;
		my $status = $? >> 8;
		my @got = mask($text, $work, $server);
		my $ok = $status == $step->{status} && (!$knows_text || same(\@got, $step->{want}, 0, 0));
		my ($first) = split /\n/, $step->{text};
		$first =~ s/#/ /g;
		print $ok ? '' : 'not ', "ok - $version $name:$step->{line}: $first\n";
		if (!$ok) {
			$bad = 1;
			print "# wanted", ($step->{status} ? " [$step->{status}]" : ''), ":\n", map { "#   $_\n" } @{$step->{want}};
			print "# got", ($status ? " [$status]" : ''), ":\n", map { "#   $_\n" } @got;
		}
		my @keep = (@got, $status ? "[$status]" : ());
		$new .= join "\n", @{$step->{raw}}, @keep, '', '';
		$new .= join "\n", @{$step->{remarks}}, '', '' if @{$step->{remarks}};
	}
	next unless $ENV{NEAP_TOUR_RECORD};
	open my $to, '>', "$work/$name.new" or die "tour.pl: $work/$name.new: $!\n";
	print $to $new;
	close $to;
}
exit $bad;
