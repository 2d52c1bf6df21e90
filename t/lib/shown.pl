# SPDX-License-Identifier: Apache-2.0
#
# What a command printed, and what was said that it would. For t/lib/tour.pl and t/lib/docs.pl.
use strict;
use warnings;

# The lines of an output without what differs from run to run: ages AGE, times TIME and DATE, uids UID, versions of
# objects RV, the folder of the test WORK, the address SERVER. Empty lines do not count, runs of blanks inside a line
# count as two.
sub mask
{
	my ($text, $work, $server) = @_;
	$text =~ s/\e\[[0-9;]*m//g;
	$text =~ s/\Q$work\E/WORK/g;
	$text =~ s/\Q$server\E/SERVER/g;
	$text =~ s/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/UID/g;
	$text =~ s/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)/TIME/g;
	$text =~ s/\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+\d{4}/DATE/g;
	$text =~ s/("?resourceVersion"?: ?)"\d+"/$1RV/g;
	$text =~ s/(Resource Version:\s+)\d+/$1RV/g;
	$text =~ s/(^|(?<=[\s(]))(\dm)?\d{1,3}s(?=$|[\s)])/AGE/gm;
	$text =~ s/(?<=\S)[ \t]{2,}/  /g;
	$text =~ s/[ \t]+$//gm;
	# What client-go grumbles when a watch ends is no answer.
	return grep { $_ ne '' && !/^[EIW]\d{4} .*reflector\.go/ } split /\n/, $text;
}

# Whether the lines are those; '...' takes as few as it can.
sub same
{
	my ($got, $want, $g, $w) = @_;
	for (; $w < @$want; $w++, $g++) {
		my $line = $want->[$w];
		if ($line eq '...') {
			for (my $at = $g; $at <= @$got; $at++) {
				return 1 if same($got, $want, $at, $w + 1);
			}
			return 0;
		}
		return 0 if $g >= @$got;
		next if $line eq $got->[$g] || ($line =~ /^~(.*)/ && $got->[$g] =~ /^(?:$1)$/);
		return 0;
	}
	return $g == @$got;
}

1;
