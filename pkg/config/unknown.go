package config

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"

	"github.com/orch-project/orch/pkg/suggest"
)

// prefix begins the name of every setting.
const prefix = "ORCH_"

// settingNames lists the settings of all programs and of the command line, one a line. make gen writes it, because a
// service does not know the settings of the others, and deployments often share one environment.
//
//go:embed names.txt
var settingNames string

// foreignNames matches variables that are no settings: those of tests and benchmarks, of the deployment files, and those
// that Kubernetes sets for a service named orch-….
var foreignNames = regexp.MustCompile(`^ORCH_(TEST|BENCH|SCALE)_|^ORCH_(BIND|VERSION|NATS_PASSWORD(_[A-Z]+)?)$|_SERVICE_(HOST|PORT)|_PORT(_\d+_(TCP|UDP).*)?$`)

// Unknown is an environment variable that looks like a setting but is none.
type Unknown struct {
	Name string
	// Suggestion is the name of the most similar setting, at most a third of whose characters differ; empty if none is similar.
	Suggestion string
}

// UnknownSettings returns the variables of the environment that begin like a setting but are none, by name.
func UnknownSettings() []Unknown { return UnknownIn(environ()) }

// UnknownIn is UnknownSettings with explicit variables.
func UnknownIn(variables map[string]string) []Unknown {
	names := strings.Fields(settingNames)
	var unknown []Unknown
	for name := range variables {
		setting := strings.TrimSuffix(name, fileSuffix)
		if !strings.HasPrefix(name, prefix) || slices.Contains(names, setting) || slices.Contains(names, name) || foreignNames.MatchString(name) {
			continue
		}
		u := Unknown{Name: name}
		if u.Suggestion = suggest.Nearest(setting, names, (len(setting)-len(prefix))/3); u.Suggestion != "" && setting != name {
			u.Suggestion += fileSuffix
		}
		unknown = append(unknown, u)
	}
	slices.SortFunc(unknown, func(a, b Unknown) int { return strings.Compare(a.Name, b.Name) })
	return unknown
}
