package standalone

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadOnlyMappings(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"00400000-01ee5000 r-xp 00000000 fe:00 9978675                            /usr/bin/orch":           true,
		"01ee5000-03ef0000 r--p 01ae5000 fe:00 9978675                            /usr/bin/orch":           true,
		"03ef0000-04095000 rw-p 03af0000 fe:00 9978675                            /usr/bin/orch":           false,
		"00400000-01ee5000 r-xp 00000000 fe:00 9978675                            /usr/lib/other":          false,
		"00400000-01ee5000 r-xp 00000000 fe:00 9978675                            /usr/bin/orch (deleted)": true,
		"c000000000-c002800000 rw-p 00000000 00:00 0 ":                                                     false,
		"7ffd-7ff0 r--p 00000000 fe:00 9978675 /usr/bin/orch":                                              false,
		"x-y r--p 00000000 fe:00 9978675 /usr/bin/orch":                                                    false,
		"": false,
	} {
		from, to, ok := readOnlyMapping(line, "/usr/bin/orch")
		require.Equal(t, want, ok, line)
		require.Equal(t, want, from < to && ok, line)
	}
}

// The process has fewer pages of its program afterwards, and runs on.
func TestPagesOfTheProgramAreReleased(t *testing.T) {
	before := residentFile(t)
	require.NoError(t, releaseTextPages())
	require.Less(t, residentFile(t), before)
}

// residentFile returns the mapped pages of files of this process.
func residentFile(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	n, err := strconv.Atoi(strings.Fields(string(text))[2])
	require.NoError(t, err)
	return n
}
