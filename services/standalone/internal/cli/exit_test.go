package cli

import (
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

func TestArgumentErrorsNameTheArgument(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		use  string
		rule cobra.PositionalArgs
		args []string
		want string
	}{
		"one is missing":           {"inspect WEBHOOK", cobra.ExactArgs(1), nil, "the WEBHOOK is missing: inspect WEBHOOK"},
		"the second is missing":    {"resume A B", cobra.ExactArgs(2), []string{"x"}, "the B is missing: resume A B"},
		"one of many is missing":   {"delete FLOW...", cobra.MinimumNArgs(1), nil, "the FLOW is missing: delete FLOW..."},
		"missing beside a flag":    {"update FLOW -f FILE", cobra.ExactArgs(1), nil, "the FLOW is missing: update FLOW -f FILE"},
		"too many":                 {"inspect WEBHOOK", cobra.ExactArgs(1), []string{"a", "b"}, `unexpected argument "b"`},
		"too many beside optional": {"presets [PRESET]", cobra.MaximumNArgs(1), []string{"a", "b"}, `unexpected argument "b"`},
		"none is accepted":         {"status", cobra.NoArgs, []string{"a"}, `unexpected argument "a"`},
		"too many beside a flag":   {"create -f FILE", cobra.NoArgs, []string{"a"}, `unexpected argument "a"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := &cobra.Command{Use: test.use, Args: test.rule, Run: func(*cobra.Command, []string) {}}
			usageErrors(cmd)
			err := cmd.Args(cmd, test.args)
			require.ErrorIs(t, err, errArgument)
			require.ErrorContains(t, err, "bad argument: "+test.want+"; see ")
		})
	}
}

func TestDurationsHaveDays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"10d": 240 * time.Hour, "0.5d": 12 * time.Hour, "-1d": -24 * time.Hour, "90m": 90 * time.Minute, "0": 0,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			got, err := durationOf(text)
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
	for _, text := range []string{"", "d", "tend", "NaNd", "Infd", "1e9d", "1w"} {
		t.Run("refused "+text, func(t *testing.T) {
			t.Parallel()
			_, err := durationOf(text)
			require.ErrorContains(t, err, "is not a time range such as 30m, 24h or 7d")
		})
	}
}
