package program_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/program"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/tracing"
)

func TestMain(m *testing.M) { testkit.Main(m) }

type cfg struct {
	Word string `env:"ORCH_TEST_WORD" envDefault:"yes" desc:"A word."`
}

func (c *cfg) Validate() error {
	if c.Word == "no" {
		return errors.New("ORCH_TEST_WORD: no")
	}
	return nil
}

var (
	errProbed = errors.New("probed")
	errRan    = errors.New("ran")
)

func execute(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out, errs bytes.Buffer
	p := program.Program[cfg]{
		Name:  "test",
		Probe: func(context.Context, cfg) error { return errProbed },
		Run: func(_ context.Context, c cfg, log *slog.Logger, _ *tracing.Provider) error {
			log.Info(c.Word)
			return errRan
		},
		Tasks: []program.Task[cfg]{
			{Name: "nothing", Usage: "do nothing", Do: func(context.Context, cfg, io.Writer, *slog.Logger) error { return errRan }},
			{Name: "count", Usage: "count to three", Do: func(_ context.Context, c cfg, out io.Writer, _ *slog.Logger) error {
				_, err := io.WriteString(out, "one, two, three: "+c.Word)
				return err
			}},
		},
	}
	err := p.Execute(t.Context(), args, &out, &errs)
	return out.String() + errs.String(), err
}

func TestExecute(t *testing.T) {
	out, err := execute(t)
	require.ErrorIs(t, err, errRan)
	require.Contains(t, out, "yes")

	out, err = execute(t, "--count")
	require.NoError(t, err)
	require.Contains(t, out, "three: yes")

	_, err = execute(t, "--health")
	require.ErrorIs(t, err, errProbed)

	out, err = execute(t, "--check-config")
	require.NoError(t, err)
	require.Contains(t, out, "ORCH_TEST_WORD")

	out, err = execute(t, "--nonsense")
	require.Error(t, err)
	require.Contains(t, out, "nonsense")
}

func TestWrongSettingsAreNamed(t *testing.T) {
	t.Setenv("ORCH_TEST_WORD", "no")
	_, err := execute(t)
	require.ErrorContains(t, err, "ORCH_TEST_WORD")
	require.NotErrorIs(t, err, errRan)
}
