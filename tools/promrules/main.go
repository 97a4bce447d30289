// Command promrules asks Prometheus' own rule engine what a PrometheusRule says about given series.
//
// It reads JSON lines from its standard input and writes one JSON line each, in order:
//
//	{"rules": {"groups": [...]}, "series": [{"series", "values"}], "stepSeconds", "endSeconds", "queries": [...]}
//	  ->  {"alerts": [{"name", "state", "labels", "annotations", "value"}], "queries": [[{"labels", "value"}]]} | {"error"}
//
// rules is a PrometheusRule's spec. series and values are written as in the files of `promtool test rules`
// (https://prometheus.io/docs/prometheus/latest/configuration/unit_testing_rules/#series); one sample a step, the first at second 0.
// All groups are evaluated at each step; alerts and queries are those of the last one.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

type series struct {
	Series string `json:"series"`
	Values string `json:"values"`
}

type question struct {
	Rules       json.RawMessage `json:"rules"`
	Series      []series        `json:"series"`
	StepSeconds int             `json:"stepSeconds"`
	EndSeconds  int             `json:"endSeconds"`
	Queries     []string        `json:"queries"`
}

type alert struct {
	Name        string            `json:"name"`
	State       string            `json:"state"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	Value       float64           `json:"value"`
}

type sample struct {
	Labels map[string]string `json:"labels"`
	Value  float64           `json:"value"`
}

type answer struct {
	Alerts  []alert    `json:"alerts"`
	Queries [][]sample `json:"queries"`
	Error   string     `json:"error,omitempty"`
}

func main() {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	if err := serve(os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func serve(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	encoder := json.NewEncoder(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var asked question
		found := answer{}
		if err := json.Unmarshal(line, &asked); err != nil {
			found.Error = err.Error()
		} else if found, err = evaluate(asked); err != nil {
			found.Error = err.Error()
		}
		if err := encoder.Encode(found); err != nil {
			return err
		}
	}
}

func evaluate(asked question) (answer, error) {
	step := time.Duration(asked.StepSeconds) * time.Second
	var load strings.Builder
	fmt.Fprintf(&load, "load %ds\n", asked.StepSeconds)
	for _, one := range asked.Series {
		fmt.Fprintf(&load, "  %s %s\n", one.Series, one.Values)
	}
	language := parser.NewParser(parser.Options{})
	loader, err := promqltest.NewLazyLoader(load.String(), promqltest.LazyLoaderOpts{
		EnableAtModifier: true, EnableNegativeOffset: true, Parser: language,
	})
	if err != nil {
		return answer{}, err
	}
	defer loader.Close()
	loader.SubqueryInterval = step
	groups, err := groupsOf(asked.Rules, step, loader, language)
	if err != nil {
		return answer{}, err
	}
	found := answer{Alerts: []alert{}, Queries: [][]sample{}}
	end := time.Unix(int64(asked.EndSeconds), 0)
	for now := time.Unix(0, 0); !now.After(end); now = now.Add(step) {
		var failed error
		loader.WithSamplesTill(now, func(err error) {
			if err != nil {
				failed = err
				return
			}
			for _, group := range groups {
				group.Eval(loader.Context(), now)
				for _, rule := range group.Rules() {
					if rule.LastError() != nil && failed == nil {
						failed = fmt.Errorf("%s: %w", rule.Name(), rule.LastError())
					}
				}
			}
		})
		if failed != nil {
			return answer{}, failed
		}
	}
	found.Alerts = append(found.Alerts, active(groups)...)
	ask := rules.EngineQueryFunc(loader.QueryEngine(), loader.Storage())
	for _, query := range asked.Queries {
		vector, err := ask(context.Background(), query, end)
		if err != nil {
			return answer{}, fmt.Errorf("%s: %w", query, err)
		}
		samples := []sample{}
		for _, one := range vector {
			samples = append(samples, sample{Labels: one.Metric.Map(), Value: one.F})
		}
		found.Queries = append(found.Queries, samples)
	}
	return found, nil
}

// groupsOf loads the rules in the order of their groups, as a Prometheus that evaluates one after the other.
func groupsOf(spec json.RawMessage, step time.Duration, loader *promqltest.LazyLoader, language parser.Parser) ([]*rules.Group, error) {
	// The loader of rule files takes files only; JSON is YAML.
	file, err := os.CreateTemp("", "rules-*.yaml")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if _, err := file.Write(spec); err != nil {
		return nil, err
	}
	manager := rules.NewManager(&rules.ManagerOptions{
		QueryFunc:    rules.EngineQueryFunc(loader.QueryEngine(), loader.Storage()),
		AppendableV2: loader.Storage(),
		Context:      context.Background(),
		NotifyFunc:   func(context.Context, string, ...*rules.Alert) {},
		Logger:       promslog.NewNopLogger(),
		Parser:       language,
	})
	byKey, faults := manager.LoadGroups(step, labels.EmptyLabels(), "", nil, false, file.Name())
	if faults != nil {
		return nil, faults[0]
	}
	var order struct {
		Groups []struct{ Name string }
	}
	if err := json.Unmarshal(spec, &order); err != nil {
		return nil, err
	}
	groups := make([]*rules.Group, 0, len(byKey))
	for _, one := range order.Groups {
		group := byKey[rules.GroupKey(file.Name(), one.Name)]
		for _, rule := range group.Rules() {
			if alerting, ok := rule.(*rules.AlertingRule); ok {
				// Else it waits for a state from before a restart, and its `for` is never over.
				alerting.SetRestored(true)
			}
		}
		groups = append(groups, group)
	}
	return groups, nil
}

func active(groups []*rules.Group) []alert {
	var found []alert
	for _, group := range groups {
		for _, rule := range group.Rules() {
			alerting, ok := rule.(*rules.AlertingRule)
			if !ok {
				continue
			}
			for _, one := range alerting.ActiveAlerts() {
				found = append(found, alert{alerting.Name(), one.State.String(), one.Labels.Map(), one.Annotations.Map(), one.Value})
			}
		}
	}
	slices.SortFunc(found, func(a, b alert) int { return strings.Compare(a.Name+fmt.Sprint(a.Labels), b.Name+fmt.Sprint(b.Labels)) })
	return found
}
