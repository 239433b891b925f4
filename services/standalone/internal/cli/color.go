package cli

import (
	"io"
	"os"

	"github.com/orch-project/orch/pkg/telemetry"
)

// isTerminal reports whether a writer is a terminal.
func isTerminal(w io.Writer) bool {
	if y, ok := w.(yamlOutput); ok {
		w = y.Writer
	}
	file, ok := w.(*os.File)
	return ok && telemetry.IsTerminal(file)
}

// The colors of results: the SGR codes of ECMA-48.
const (
	red   = "31"
	green = "32"
)

// colored returns a text in a color for a terminal, unless NO_COLOR is set (no-color.org).
func colored(w io.Writer, color, text string) string {
	if text == "" || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !isTerminal(w) {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}
