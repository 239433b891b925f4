// Package stdio serves templates over a line protocol: one JSON object per line in, one per line out.
//
//	in   {"id": "...", "template": "...", "context": {...}}
//	out  {"output": "..."}
//	or   {"error": "syntax|undefined|runtime|budget", "message": "...", "line": 3}
//
// The context keeps the order of its keys and the literals of its numbers.
package stdio

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/orch-project/orch/pkg/jinja"
)

// maxLine bounds the length of a request in bytes.
const maxLine = 64 << 20

type request struct {
	ID       json.RawMessage `json:"id"`
	Template string          `json:"template"`
	Context  json.RawMessage `json:"context"`
}

type response struct {
	Output  *string `json:"output,omitempty"`
	Error   string  `json:"error,omitempty"`
	Message string  `json:"message,omitempty"`
	Line    int     `json:"line,omitempty"`
}

// Run responds to the requests of in until in ends or ctx is done.
func Run(ctx context.Context, in io.Reader, out io.Writer, env *jinja.Engine) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 1<<16), maxLine)
	w := bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for lines.Scan() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(lines.Bytes()) == 0 {
			continue
		}
		if err := enc.Encode(answer(ctx, env, lines.Bytes())); err != nil {
			return fmt.Errorf("write response: %w", err)
		}
		if err := w.Flush(); err != nil {
			return fmt.Errorf("write response: %w", err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	return nil
}

func answer(ctx context.Context, env *jinja.Engine, line []byte) response {
	var q request
	if err := json.Unmarshal(line, &q); err != nil {
		return response{Error: string(jinja.KindRuntime), Message: "bad request: " + err.Error()}
	}
	vars, err := DecodeContext(q.Context)
	if err != nil {
		return response{Error: string(jinja.KindRuntime), Message: err.Error()}
	}
	t, err := env.Compile(q.Template)
	if err != nil {
		return failure(err)
	}
	text, err := t.Render(ctx, vars)
	if err != nil {
		return failure(err)
	}
	return response{Output: &text}
}

func failure(err error) response {
	var e *jinja.Error
	if !errors.As(err, &e) {
		return response{Error: string(jinja.KindRuntime), Message: err.Error()}
	}
	msg := e.Message
	if e.Kind == jinja.KindRuntime && e.Type != "" {
		msg = e.Type + ": " + msg
	}
	return response{Error: string(e.Kind), Message: msg, Line: e.Line}
}

// DecodeContext parses a JSON object as the variables of a template. An empty text and null have no variables.
func DecodeContext(data []byte) (jinja.Vars, error) {
	if len(data) == 0 || string(data) == "null" {
		return jinja.Vars{}, nil
	}
	vars, err := jinja.DecodeVars(data)
	if err != nil {
		return nil, fmt.Errorf("decode context: %w", err)
	}
	return vars, nil
}
