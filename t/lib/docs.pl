#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
#
# Compares what a document shows with what came when it was run.
#
# docs.pl DOCUMENT SAID WORK   Each block with the info string `console` behind a block `sh` has to be the end of what the
# commands of that one printed, line by line; SAID has "== line N" before what the command in line N of the document
# printed. A block that begins with "# " is to be typed elsewhere. In the document '...' stands for any lines, or for any
# text in a line, and what follows " # " is a remark. What differs from run to run (t/lib/shown.pl; the tails that names
# are given) is not compared. It counts the blocks, and fails when there are none.
use strict;
use warnings;
use FindBin;
require "$FindBin::Bin/shown.pl";

my ($document, $said, $work) = @ARGV;

sub lines_of
{
	my ($text) = @_;
	$text =~ s/-[bcdfghjklmnpqrstvwxz2456789]{8,10}(?=-[bcdfghjklmnpqrstvwxz2456789]{5}\b)/-HASH/g;
	$text =~ s/-[bcdfghjklmnpqrstvwxz2456789]{5}(?![\w-])/-TAIL/g;
	return map { s/AGE \(x\d+ over AGE\)/AGE/r } mask($text, $work, 'https://127.0.0.1');
}

# As same() wants it.
sub wanted
{
	my ($text) = @_;
	$text =~ s/\s+# .*$//gm;
	$text =~ s/^\s+\.\.\.$/.../gm;
	return map { $_ ne '...' && /\.\.\./ ? '~' . join('.*', map { quotemeta } split /\.\.\./, $_, -1) : $_ } lines_of($text);
}

sub printed
{
	my ($from, $to) = @_;
	my ($text, $line) = ('', 0);
	open my $in, '<', $said or die "docs.pl: $said: $!\n";
	while (<$in>) {
		if (/^== line (\d+)$/) { $line = $1; }
		elsif ($line > $from && $line < $to) { $text .= $_; }
	}
	return lines_of($text);
}

my ($info, $begin, @commands, $text) = ('', 0);
my ($count, $bad) = (0, 0);
open my $in, '<', $document or die "docs.pl: $document: $!\n";
while (<$in>) {
	if (/^```(.*)$/ && $info eq '') {
		($info, $begin, $text) = ($1 || 'plain', $., '');
		next;
	}
	if (!/^```/) {
		$text .= $_ if $info ne '';
		next;
	}
	@commands = $info eq 'sh' ? ($begin, $.) : () if $info =~ /^sh/;
	if ($info eq 'console' && @commands && $text !~ /^# /) {
		my @want = wanted($text);
		my @got = printed(@commands);
		$count++;
		if (!same(\@got, ['...', @want], 0, 0)) {
			$bad++;
			print "line $begin shows:\n", map({ "  $_\n" } @want), "and there came:\n", map({ "  $_\n" } @got);
		}
	}
	$info = '';
}
print "$count blocks, $bad of them wrong\n";
exit($bad || !$count ? 1 : 0);
