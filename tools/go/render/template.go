package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"

	"helm.sh/helm/v4/pkg/action"
	ci "helm.sh/helm/v4/pkg/chart"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	release "helm.sh/helm/v4/pkg/release/v1"
)

// files are a chart as read from disk. Each render makes a chart of its own from them, since Helm's work on
// dependencies and values changes the chart that it is given.
type files []*archive.BufferedFile

func loadChart(path string) (*files, error) {
	chart, err := loader.Load(path)
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", path, err)
	}
	read := make(files, 0, len(chart.Raw))
	for _, file := range chart.Raw {
		read = append(read, &archive.BufferedFile{Name: file.Name, ModTime: file.ModTime, Data: file.Data})
	}
	return &read, nil
}

// template does what `helm template NAME CHART -n NAMESPACE -f -` does with the values on its standard input.
func (read *files) template(asked question) (string, error) {
	// As from a file, so that numbers become what they become there.
	values, err := loader.LoadValues(bytes.NewReader(asked.Values))
	if err != nil {
		return "", fmt.Errorf("failed to parse values: %w", err)
	}
	fresh := make([]*archive.BufferedFile, 0, len(*read))
	for _, file := range *read {
		// The loader renames the files of subcharts in place.
		fresh = append(fresh, &archive.BufferedFile{Name: file.Name, ModTime: file.ModTime, Data: file.Data})
	}
	chart, err := loader.LoadFiles(fresh)
	if err != nil {
		return "", err
	}
	if required := chart.Metadata.Dependencies; len(required) > 0 {
		wanted := make([]ci.Dependency, 0, len(required))
		for _, dependency := range required {
			wanted = append(wanted, dependency)
		}
		if err := action.CheckDependencies(chart, wanted); err != nil {
			return "", err
		}
	}
	configuration := action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler))
	client := action.NewInstall(configuration)
	client.DryRunStrategy = action.DryRunClient
	client.Replace = true
	client.Namespace = asked.Namespace
	client.APIVersions = common.VersionSet(asked.APIVersions)
	if client.ReleaseName, _, err = client.NameAndChart([]string{asked.Name, "chart"}); err != nil {
		return "", err
	}
	if asked.KubeVersion != "" {
		if client.KubeVersion, err = common.ParseKubeVersion(asked.KubeVersion); err != nil {
			return "", fmt.Errorf("invalid kube version '%s': %w", asked.KubeVersion, err)
		}
	}
	releaser, err := client.Run(chart, values)
	if err != nil {
		if releaser != nil {
			return "", fmt.Errorf("%w\n\nUse --debug flag to render out invalid YAML", err)
		}
		return "", err
	}
	made, fits := releaser.(*release.Release)
	if !fits {
		return "", fmt.Errorf("a release of an unknown kind: %T", releaser)
	}
	return printed(made), nil
}

// printed is the release as `helm template` prints it.
func printed(made *release.Release) string {
	var text strings.Builder
	fmt.Fprintln(&text, strings.TrimSpace(made.Manifest))
	for _, hook := range made.Hooks {
		fmt.Fprintf(&text, "---\n# Source: %s\n%s\n", hook.Path, hook.Manifest)
	}
	return text.String()
}
