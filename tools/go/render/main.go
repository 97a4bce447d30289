// Command render answers many `helm template` questions in one process, for tests that ask thousands.
//
// It reads JSON lines from its standard input and writes one JSON line each, in order:
//
//	{"name", "namespace", "values", "kubeVersion"?, "apiVersions"?}   ->   {"manifests", "objects", "faults", "warnings"} | {"error"}
//
// manifests is byte for byte what `helm template` prints, error what it ends with. objects are the documents as JSON;
// faults and warnings are what an API server would answer to creating them.
//
// Usage: render [-validate=false] CHART
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"runtime/debug"
)

type question struct {
	Name        string          `json:"name"`
	Namespace   string          `json:"namespace"`
	Values      json.RawMessage `json:"values"`
	KubeVersion string          `json:"kubeVersion"`
	APIVersions []string        `json:"apiVersions"`
}

type answer struct {
	Manifests string            `json:"manifests,omitempty"`
	Objects   []json.RawMessage `json:"objects,omitempty"`
	Faults    []string          `json:"faults,omitempty"`
	Warnings  []string          `json:"warnings,omitempty"`
	Error     string            `json:"error,omitempty"`
}

func main() {
	validate := flag.Bool("validate", true, "also check every object as an API server would")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: render [-validate=false] CHART")
	}
	// Each answer leaves much garbage and little else; collecting it less often saves a fifth of the time.
	debug.SetGCPercent(400)
	// Helm logs what it refuses, too; the answer says it.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	chart, err := loadChart(flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	if err := serve(chart, *validate, os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func serve(chart *files, validate bool, in io.Reader, out io.Writer) error {
	lines, answers := json.NewDecoder(bufio.NewReader(in)), bufio.NewWriter(out)
	encoder := json.NewEncoder(answers)
	encoder.SetEscapeHTML(false)
	for {
		var asked question
		if err := lines.Decode(&asked); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("standard input: %w", err)
		}
		if err := encoder.Encode(reply(chart, asked, validate)); err != nil {
			return err
		}
		if err := answers.Flush(); err != nil {
			return err
		}
	}
}

func reply(chart *files, asked question, validate bool) (given answer) {
	defer func() {
		if fault := recover(); fault != nil {
			given = answer{Error: fmt.Sprintf("panic: %v\n%s", fault, debug.Stack())}
		}
	}()
	manifests, err := chart.template(asked)
	if err != nil {
		return answer{Error: err.Error()}
	}
	given.Manifests = manifests
	if validate {
		given.examine(asked.Namespace)
	}
	return given
}
