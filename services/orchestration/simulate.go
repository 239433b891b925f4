package orchestration

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/orch-project/orch/services/orchestration/internal/automations/simulate"
)

// maxCase bounds a line of SimulateAutomations, in bytes.
const maxCase = 16 << 20

// SimulateAutomations reads one case of triggers or of matching a line, and writes for each line what happens:
// {"firings": [...]}, {"matches": true}, or {"error": "..."}. Nothing is stored or sent. The error is one of reading or
// writing.
func SimulateAutomations(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxCase)
	for lines.Scan() && ctx.Err() == nil {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		if _, err := out.Write(simulate.Line(line)); err != nil {
			return fmt.Errorf("write what a case does: %w", err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read a case: %w", err)
	}
	return ctx.Err()
}
