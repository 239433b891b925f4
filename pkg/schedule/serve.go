package schedule

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// maxLine bounds a line that Serve reads, in bytes.
const maxLine = 1 << 20

// Serve reads one Query a line and writes one answer for each, {"times": [...]} or {"error": text}, until the input ends.
// Blank lines are left out.
func Serve(ctx context.Context, in io.Reader, out io.Writer, now func() time.Time) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	w := bufio.NewWriter(out)
	for lines.Scan() && ctx.Err() == nil {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		if err := json.NewEncoder(w).Encode(respond(line, now())); err != nil {
			return fmt.Errorf("write an answer: %w", err)
		}
		// Whoever sends one query at a time waits for its answer.
		if err := w.Flush(); err != nil {
			return fmt.Errorf("write an answer: %w", err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read queries: %w", err)
	}
	return ctx.Err()
}

// answer is what Serve writes for a query.
type answer struct {
	Times *[]string `json:"times,omitempty"`
	Error string    `json:"error,omitempty"`
}

func respond(line []byte, now time.Time) answer {
	var q Query
	if err := json.Unmarshal(line, &q); err != nil {
		return answer{Error: "read the query: " + err.Error()}
	}
	times, err := q.Times(now)
	if err != nil {
		return answer{Error: err.Error()}
	}
	texts := make([]string, len(times))
	for i, t := range times {
		texts[i] = Format(t)
	}
	return answer{Times: &texts}
}
