//go:build e2esdk

package sdk

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"
)

// ofEveryVersion must pass with every SDK that has an environment, ofLater with those since 3.1: older ones lack
// methods that the scripts call.
var (
	ofEveryVersion = []string{"t_any_version", "l_background_tasks", "w_pool_once", "y_cli_reads"}
	ofLater        = []string{"b_fail_crash", "c_serve", "f_concurrency", "h_blocks", "k_extras"}
)

// TestVersions runs a few scenarios with other versions of the SDK against the single binary. Their environments are
// beside the given one, with a version appended to its name.
func TestVersions(t *testing.T) {
	environments, err := filepath.Glob(*environment + "-3.*")
	require.NoError(t, err)
	require.NotEmpty(t, environments, "environments beside %s", *environment)
	scripts := append(append([]string{}, ofEveryVersion...), ofLater...)
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\n%s\t", strings.Join(append([]string{"SDK"}, scripts...), "\t"))
	for _, python := range environments {
		version := strings.TrimPrefix(filepath.Base(python), filepath.Base(*environment)+"-")
		fmt.Fprintf(w, "\n%s\t", version)
		api := forms[0].start(t).API()
		for i, script := range scripts {
			if version == "3.0" && i >= len(ofEveryVersion) {
				fmt.Fprint(w, "\t")
				continue
			}
			said := "failed"
			t.Run(version+"/"+script, func(t *testing.T) {
				r := runWith(t, python, api, "scenarios", script)
				require.NoError(t, r.err, "%s", r.output)
				said = fmt.Sprintf("%.1f s", r.took.Seconds())
			})
			fmt.Fprintf(w, "%s\t", said)
		}
	}
	fmt.Fprintln(w)
	w.Flush()
	t.Log(text.String())
}
