package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// part is a part of the pipeline. A sample belongs to the part of its innermost function that a pattern matches.
type part struct {
	name     string
	function *regexp.Regexp
}

func parts(list ...string) []part {
	var all []part
	for i := 0; i < len(list); i += 2 {
		all = append(all, part{list[i], regexp.MustCompile(list[i+1])})
	}
	return all
}

// The parts, in three passes: a sample belongs to a part of the first pass that has one. The runtime's own work comes first,
// whoever caused it. The parts of the last pass are what remains of packages that several parts use.
var passes = [][]part{
	parts(
		"garbage collection", `^runtime\.(gcBgMarkWorker|gcAssistAlloc|deductAssistCredit|bgsweep|bgscavenge|sweepone|gcStart|gcMarkDone|gcMarkTermination)`,
		"sync to disk", `^syscall\.(Fsync|Fdatasync)|^os\.\(\*File\)\.Sync|/vfs\..*\.Sync`,
	),
	parts(
		"receive: read body and headers", `/webhook/receive\.`,
		"render: filter, template, response", `/render\.\(\*Engine\)\.(RenderFor|Match|Respond)$`,
		"event: parse rendered text, validate", `/render\.\(\*Engine\)\.Events(In)?$`,
		"publish: encode", `/pkg/events\.\(\*Writer\)\.Write$|/broker\.\(\*Batch\)\.Add$`,
		"publish: frames", `/broker\.\(\*committer\)`,
		"delivery log", `/hooks/internal/deliveries\.`,
		"consume: decode frames", `/broker\.decode(Frame|Message)`,
		"consume: documents of events", `/internal/events\.\(\*persistence\)\.document$`,
		"store: insert", `/embeddedmongo/internal/command\.\(\*Service\)\.insert`,
		"store: write-ahead log, memtable", `/pebble/v2\.\(\*(DB|Batch|commitPipeline)\)\.(Apply|commit|Commit)|/pebble/v2/record\.`,
		"store: flush, compaction", `/pebble/v2\.\(\*DB\)\.(flush|compact|runCompaction)`,
		"automations", `/orchestration/internal/automations`,
		"NATS server", `/nats-server/v2/`,
		"HTTP: read request", `^net/http\.\(\*conn\)\.readRequest|^net/http\.\(\*connReader\)`,
		"HTTP: write response", `^net/http\.\(\*response\)`,
	),
	parts(
		"publish: wait for the acknowledgement", `/broker\.\(\*Publisher\)|/publish\.\(\*Publisher\)`,
		"consume: other", `/broker\.|/internal/events\.`,
		"NATS client", `/nats-io/nats(\.|%2e)go`,
		"hooks: other", `/services/hooks`,
		"gateway", `/services/gateway`,
		"store: other", `/embeddedmongo|/pebble|mongo-driver`,
		"HTTP: other", `^net/http\.`,
		"other", `orch-project`,
		"scheduler", `^runtime\.(mcall|schedule|findRunnable|park_m|mstart|sysmon|goexit0)`,
	),
}

// partOf returns the part of a stack, whose innermost function is the first.
func partOf(stack []string) string {
	for _, pass := range passes {
		for _, function := range stack {
			for _, p := range pass {
				if p.function.MatchString(function) {
					return p.name
				}
			}
		}
	}
	return "other"
}

// separator separates the samples in the output of pprof.
const separator = "-----------+-------------------------------------------------------\n"

// sample matches the first line of a sample: its value and its innermost function. Lines before it are labels.
var sample = regexp.MustCompile(`^\s*([0-9.]+)([a-zA-Z]*)\s{2,}(\S.*)$`)

// shares sums the samples of a profile by part.
func shares(ctx context.Context, profile, index, unit string) (map[string]float64, error) {
	cmd := exec.CommandContext(ctx, "go", "tool", "pprof", "-traces", "-sample_index="+index, "-unit="+unit, "-nodefraction=0", "-edgefraction=0", "-nodecount=1000000", profile)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("read profile: %w: %s", err, stderr.Bytes())
	}
	return sumParts(string(text))
}

// sumParts sums the samples in the output of pprof by part.
func sumParts(text string) (map[string]float64, error) {
	sums := map[string]float64{}
	_, samples, _ := strings.Cut(text, separator)
	for block := range strings.SplitSeq(samples, separator) {
		var value float64
		var stack []string
		for line := range strings.Lines(block) {
			line = strings.TrimSuffix(strings.TrimRight(line, "\n"), " (inline)")
			if stack != nil {
				stack = append(stack, strings.TrimSpace(line))
				continue
			}
			first := sample.FindStringSubmatch(line)
			if first == nil {
				continue
			}
			var err error
			if value, err = strconv.ParseFloat(first[1], 64); err != nil {
				return nil, fmt.Errorf("read sample: %w", err)
			}
			stack = []string{first[3]}
		}
		if stack != nil {
			sums[partOf(stack)] += value
		}
	}
	return sums, nil
}

// printShares prints the parts of a profile, the largest first, with the amount of each for a request.
func printShares(ctx context.Context, to io.Writer, title, profile, index, unit string, requests int) error {
	sums, err := shares(ctx, profile, index, unit)
	if err != nil {
		return err
	}
	total := 0.
	for _, v := range sums {
		total += v
	}
	fmt.Fprintf(to, "\n%-40s %7s %9s\n", title, "share", unit+"/req")
	for _, name := range slices.SortedFunc(maps.Keys(sums), func(a, b string) int { return cmp.Compare(sums[b], sums[a]) }) {
		fmt.Fprintf(to, "%-40s %6.1f%% %9.2f\n", name, 100*sums[name]/total, sums[name]/float64(requests))
	}
	fmt.Fprintf(to, "%-40s %6.1f%% %9.2f\n", "sum", 100., total/float64(requests))
	return nil
}
