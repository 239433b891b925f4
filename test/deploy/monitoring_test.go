package deploy_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

const monitoring = "deploy/monitoring"

// rule is one alert.
type rule struct {
	Alert, Expr         string
	Labels, Annotations map[string]string
}

func alerts(t *testing.T) []rule {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, monitoring, "alerts.yaml"))
	require.NoError(t, err)
	var file struct{ Groups []struct{ Rules []rule } }
	require.NoError(t, yaml.Unmarshal(text, &file))
	require.Len(t, file.Groups, 1)
	return file.Groups[0].Rules
}

var (
	metricName  = regexp.MustCompile(`\b(?:orch|go|process)_[a-z0-9_]+`)
	declaration = regexp.MustCompile(`"(orch_[a-z0-9_]+)"`)
	derived     = regexp.MustCompile(`_(?:bucket|count|sum)$`)
)

// ofLibrary are metrics of Prometheus' client that dashboard and alerts use.
var ofLibrary = []string{
	"go_goroutines", "go_memstats_heap_inuse_bytes", "go_gc_gomemlimit_bytes", "process_cpu_seconds_total", "process_resident_memory_bytes",
}

// registered are the names of the metrics in the sources of the services.
func registered(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, name := range ofLibrary {
		names[name] = true
	}
	sources(t, func(text string) {
		for _, found := range declaration.FindAllStringSubmatch(text, -1) {
			names[found[1]] = true
		}
	})
	return names
}

// sources reads the source files of the services without their tests.
func sources(t *testing.T, read func(text string)) {
	t.Helper()
	for _, tree := range []string{"pkg", "services"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, tree), func(path string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			read(string(text))
			return err
		}))
	}
}

// requireRegistered checks that an expression names metrics that exist.
func requireRegistered(t *testing.T, names map[string]bool, expression string) {
	t.Helper()
	found := metricName.FindAllString(expression, -1)
	require.NotEmpty(t, found, expression)
	for _, name := range found {
		require.True(t, names[derived.ReplaceAllString(name, "")] || names[name], "%s is no metric of a service", name)
	}
}

// Each alert names metrics that exist, and a section of the runbook that exists. The runbook has no other sections.
func TestAlertsHaveMetricsAndRunbook(t *testing.T) {
	t.Parallel()
	names := registered(t)
	text, err := os.ReadFile(filepath.Join(root, "docs", "runbook.md"))
	require.NoError(t, err)
	var sections, described []string
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			sections = append(sections, strings.TrimSpace(title))
		}
	}
	for _, r := range alerts(t) {
		requireRegistered(t, names, r.Expr)
		require.Contains(t, []string{"critical", "warning"}, r.Labels["severity"], r.Alert)
		require.NotEmpty(t, r.Annotations["summary"], r.Alert)
		require.Equal(t, "docs/runbook.md#"+strings.ToLower(r.Alert), r.Annotations["runbook"])
		described = append(described, r.Alert)
	}
	require.Equal(t, described, sections)
}

// The dashboard shows metrics that exist, and each metric that operations.md lists is a metric.
func TestDashboardHasMetrics(t *testing.T) {
	t.Parallel()
	names := registered(t)
	text, err := os.ReadFile(filepath.Join(root, monitoring, "dashboard.json"))
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct {
			ID      int
			Title   string
			Type    string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &dashboard))
	var ids []int
	for _, panel := range dashboard.Panels {
		require.NotContains(t, ids, panel.ID)
		ids = append(ids, panel.ID)
		require.LessOrEqual(t, panel.GridPos.X+panel.GridPos.W, 24, panel.Title)
		for _, target := range panel.Targets {
			requireRegistered(t, names, target.Expr)
		}
		require.Equal(t, panel.Type == "row", len(panel.Targets) == 0, panel.Title)
	}
	operations, err := os.ReadFile(filepath.Join(root, "docs", "operations.md"))
	require.NoError(t, err)
	for _, row := range regexp.MustCompile("(?m)^\\| `(orch_[a-z_]+)").FindAllStringSubmatch(string(operations), -1) {
		requireRegistered(t, names, row[1])
	}
}

// Promtool checks the rules and evaluates them on samples, where it is installed.
func TestPromtoolAcceptsTheAlerts(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed; it is part of Prometheus")
	}
	for _, arguments := range [][]string{{"check", "rules", "alerts.yaml"}, {"test", "rules", "alerts_test.yaml"}} {
		command := exec.CommandContext(t.Context(), promtool, arguments...)
		command.Dir = filepath.Join(root, monitoring)
		output, err := command.CombinedOutput()
		require.NoError(t, err, string(output))
	}
}

var (
	quantile = regexp.MustCompile(`(?s)histogram_quantile\(.*?(orch_[a-z_]+)_bucket.*> ([0-9.]+)`)
	buckets  = regexp.MustCompile(`(?s)Buckets: +\[\]float64\{([^}]*)\}`)
)

// A quantile is never above the highest bucket, so an alert needs a bucket above its threshold.
func TestAlertsOfQuantilesCanFire(t *testing.T) {
	t.Parallel()
	highest := map[string]float64{}
	sources(t, func(text string) {
		for _, at := range declaration.FindAllStringSubmatchIndex(text, -1) {
			rest := text[at[1]:]
			if next := declaration.FindStringIndex(rest); next != nil {
				rest = rest[:next[0]]
			}
			if found := buckets.FindStringSubmatch(rest); found != nil {
				bounds := strings.Split(strings.TrimRight(found[1], ", \n\t"), ",")
				bound, err := strconv.ParseFloat(strings.TrimSpace(bounds[len(bounds)-1]), 64)
				require.NoError(t, err)
				highest[text[at[2]:at[3]]] = bound
			}
		}
	})
	checked := 0
	for _, r := range alerts(t) {
		found := quantile.FindStringSubmatch(r.Expr)
		if found == nil {
			continue
		}
		threshold, err := strconv.ParseFloat(found[2], 64)
		require.NoError(t, err)
		require.Greater(t, highest[found[1]], threshold, "%s: %s has no bucket above the threshold", r.Alert, found[1])
		checked++
	}
	require.GreaterOrEqual(t, checked, 5)
}
