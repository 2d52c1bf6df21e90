// SPDX-License-Identifier: Apache-2.0
//
// The peer for the node tick (P9): reads the files of a list as node agents in Go usually
// do, each by open, read of the whole file, close, and splits it into lines and fields
// whose numbers are kept. An empty line in the list ends a tick. Prints the CPU time of a
// tick in microseconds, garbage collection included, then the reads of a tick; tab
// separated.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func cpuUsec() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e3
}

func readValues(path string, values []int64) ([]int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return values, err
	}
	for _, line := range strings.Split(string(text), "\n") {
		for _, field := range strings.Fields(line) {
			if value, err := strconv.ParseInt(field, 10, 64); err == nil {
				values = append(values, value)
			}
		}
	}
	return values, nil
}

func readList(name string) ([]string, int, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	var paths []string
	ticks := 0
	scanner := bufio.NewScanner(file)
	for scanner.Scan() {
		if scanner.Text() == "" {
			ticks++
		}
		paths = append(paths, scanner.Text())
	}
	if ticks == 0 {
		ticks = 1
	}
	return paths, ticks, scanner.Err()
}

func run() error {
	rounds := 10
	if len(os.Args) < 2 || os.Args[1] == "--help" {
		return fmt.Errorf("usage: tick LIST [ROUNDS]")
	}
	if len(os.Args) > 2 {
		n, err := strconv.Atoi(os.Args[2])
		if err != nil || n < 1 {
			return fmt.Errorf("ROUNDS is a number above 0, not %q", os.Args[2])
		}
		rounds = n
	}
	paths, ticks, err := readList(os.Args[1])
	if err != nil {
		return err
	}
	kept := make([][]int64, len(paths))
	from := 0.0
	for round := -1; round < rounds; round++ {
		if round == 0 {
			from = cpuUsec()
		}
		for i, path := range paths {
			if path == "" { // the end of a tick: caches cool down as for the daemon
				time.Sleep(100 * time.Millisecond)
				continue
			}
			kept[i], err = readValues(path, kept[i][:0])
			if err != nil {
				return err
			}
		}
	}
	fmt.Printf("%.0f\t%d\n", (cpuUsec()-from)/float64(rounds)/float64(ticks), len(paths)/ticks)
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "tick:", err)
		os.Exit(1)
	}
}
