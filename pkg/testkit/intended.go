package testkit

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Intended is a list of intended differences from a reference, read from a text file. A line is a pattern, in which *
// matches anything. Lines that begin with # above it give the reason; an empty line ends the reason's scope.
type Intended struct {
	file    string
	reasons map[string]string // By pattern.
	used    map[string]bool
}

// ReadIntended reads a file; a pattern without a reason fails the test.
func ReadIntended(t testing.TB, file string) *Intended {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	in := &Intended{file: file, reasons: map[string]string{}, used: map[string]bool{}}
	var reason []string
	pattern := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		comment, isComment := strings.CutPrefix(line, "#")
		switch {
		case line == "":
			reason = nil
		case isComment:
			if pattern {
				reason = nil
			}
			reason = append(reason, strings.TrimSpace(comment))
		default:
			require.NotEmpty(t, reason, "%s: %q has no reason above it", file, line)
			in.reasons[line] = strings.Join(reason, " ")
		}
		pattern = line != "" && !isComment
	}
	return in
}

// Reason returns the reason for a difference, or an empty string if it is not intended. It marks every matching pattern
// as used.
func (in *Intended) Reason(difference string) string {
	reason := ""
	for _, pattern := range slices.Sorted(maps.Keys(in.reasons)) {
		if glob(pattern).MatchString(difference) {
			reason, in.used[pattern] = in.reasons[pattern], true
		}
	}
	return reason
}

// CheckUsed fails the test for each pattern that matched nothing, so that the list has no stale entries.
func (in *Intended) CheckUsed(t testing.TB) {
	t.Helper()
	for _, pattern := range in.Unused() {
		t.Errorf("%s: nothing differs as %q says", in.file, pattern)
	}
}

// Unused returns the patterns that matched nothing.
func (in *Intended) Unused() []string {
	var unused []string
	for _, pattern := range slices.Sorted(maps.Keys(in.reasons)) {
		if !in.used[pattern] {
			unused = append(unused, pattern)
		}
	}
	return unused
}

func glob(pattern string) *regexp.Regexp {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$")
}
