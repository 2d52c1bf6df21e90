// SPDX-License-Identifier: Apache-2.0
//
// The peer for P3 to P5: an extender as they are usually written in Go, with net/http and
// encoding/json, of names only. extender NODES: its nodes are those of extender_server,
// in a map; it compares a number or two and nothing more. Prints its port; ends when its
// standard input does.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
)

type node struct {
	milli int64
	open  bool
}

type args struct {
	Pod struct {
		Metadata struct {
			Name, Namespace, UID string
		}
		Spec struct {
			Containers []struct {
				Name      string
				Resources struct {
					Requests map[string]string
				}
			}
		}
	}
	NodeNames []string
}

type filterResult struct {
	NodeNames   []string
	FailedNodes map[string]string
	Error       string
}

type hostPriority struct {
	Host  string
	Score int64
}

func read(w http.ResponseWriter, r *http.Request) *args {
	a := &args{}
	if err := json.NewDecoder(r.Body).Decode(a); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return nil
	}
	return a
}

func answer(w http.ResponseWriter, value interface{}) {
	w.Header().Set("Content-Type", "application/json")
	// The client sees what is missing.
	_ = json.NewEncoder(w).Encode(value)
}

func run() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: extender NODES")
	}
	count, err := strconv.Atoi(os.Args[1])
	if err != nil || count < 1 {
		return fmt.Errorf("NODES is a number above 0, not %q", os.Args[1])
	}
	nodes := make(map[string]node, count)
	for i := 0; i < count; i++ {
		milli := int64(500)
		if i%20 != 0 {
			milli = int64(4000 + i%61*1000)
		}
		nodes[fmt.Sprintf("node-%05d", i)] = node{milli, i%50 != 0}
	}
	http.HandleFunc("/extender/v1/filter", func(w http.ResponseWriter, r *http.Request) {
		a := read(w, r)
		if a == nil {
			return
		}
		result := filterResult{NodeNames: []string{}, FailedNodes: map[string]string{}}
		for _, name := range a.NodeNames {
			if n, ok := nodes[name]; !ok {
				result.FailedNodes[name] = "node(s) were not known"
			} else if !n.open {
				result.FailedNodes[name] = "node(s) were unschedulable"
			} else if n.milli < 1000 {
				result.FailedNodes[name] = "Insufficient cpu"
			} else {
				result.NodeNames = append(result.NodeNames, name)
			}
		}
		answer(w, result)
	})
	http.HandleFunc("/extender/v1/prioritize", func(w http.ResponseWriter, r *http.Request) {
		a := read(w, r)
		if a == nil {
			return
		}
		scores := make([]hostPriority, 0, len(a.NodeNames))
		for _, name := range a.NodeNames {
			scores = append(scores, hostPriority{name, nodes[name].milli * 10 / 64000})
		}
		answer(w, scores)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return http.Serve(listener, nil)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "extender:", err)
		os.Exit(1)
	}
}
