// Package telemetry provides a service's logs, metrics and internal address for operators.
//
// Logs are structured: one JSON object per line, or coloured text on a terminal. The keys are fixed: service,
// request_id, workspace, run_id, webhook_id, error; trace_id and span_id while traces are on. Metrics are in the format of Prometheus; their names begin with
// "orch_" and end with their unit. The internal address serves /metrics, /health, /ready and /debug/pprof; it must not
// be reachable from the public network.
package telemetry

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/lmittmann/tint"
)

// Logging are the settings of a service's logs.
type Logging struct {
	Level  slog.Level `env:"ORCH_LOG_LEVEL" envDefault:"info" desc:"The minimum level of logs: debug, info, warn or error."`
	Format Format     `env:"ORCH_LOG_FORMAT" envDefault:"auto" desc:"The format of logs: json, text, or auto, which is text on a terminal and json otherwise."`
}

// Format is the log format.
type Format string

// The log formats.
const (
	FormatAuto Format = "auto"
	FormatJSON Format = "json"
	FormatText Format = "text"
)

// UnmarshalText parses the format for package config.
func (f *Format) UnmarshalText(text []byte) error {
	switch v := Format(strings.ToLower(string(text))); v {
	case FormatAuto, FormatJSON, FormatText:
		*f = v
		return nil
	}
	return fmt.Errorf("parse log format %q: neither json, text nor auto", text)
}

// NewLogger returns a logger that writes to w and adds the service's name to each line.
func NewLogger(w io.Writer, service string, l Logging) *slog.Logger {
	terminal := isTerminal(w)
	var handler slog.Handler
	if l.Format == FormatText || (l.Format != FormatJSON && terminal) {
		handler = tint.NewTextHandler(w, &tint.Options{Level: l.Level, TimeFormat: time.TimeOnly, NoColor: !terminal || os.Getenv("NO_COLOR") != ""})
	} else {
		handler = slog.NewJSONHandler(w, &slog.HandlerOptions{Level: l.Level, ReplaceAttr: readable})
	}
	return slog.New(traceHandler{handler}).With("service", service)
}

// readable formats durations with their unit, as "1.5ms"; slog's JSON would write nanoseconds without a unit.
func readable(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && IsTerminal(f)
}

// IsTerminal reports whether a person may sit behind a file: it is a character device other than the null device.
func IsTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
