package render

import (
	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/webhook/receive"
)

// Variables has the variables of a request for its filter and its template. Each variable is created at its first use, and both share it.
// One goroutine may use Variables.
type Variables struct {
	request *receive.Request
	body    receive.Body
	values  jinja.Vars
}

// NewVariables returns the variables of a request and its body.
func NewVariables(r *receive.Request, body receive.Body) *Variables {
	return &Variables{request: r, body: body, values: make(jinja.Vars, 5)}
}

// read returns at least the variables that a program reads, and the bytes that they hold.
func (v *Variables) read(reads func(name string) bool) (vars jinja.Vars, held int) {
	set := func(name string, value func() jinja.Value) {
		if v.values[name] == nil && reads(name) {
			v.values[name] = value()
		}
	}
	set("method", func() jinja.Value { return jinja.Str(v.request.Method) })
	set("headers", func() jinja.Value { return headersValue(v.request) })
	set("body", func() jinja.Value { return bodyValue(v.body) })
	set("query", func() jinja.Value { return pairsValue(receive.ParseQuery(v.request.Query)) })
	set("path", func() jinja.Value { return jinja.Str(v.request.Path) })
	if reads("body") {
		held = v.request.Tree()
	}
	return v.values, held
}

// headersValue returns the headers without those that prove somebody: a template would publish them.
func headersValue(r *receive.Request) jinja.Value {
	pairs := make([][2]string, 0, len(r.Header))
	for _, f := range r.Header {
		if !r.Hides(f.Name) {
			pairs = append(pairs, [2]string{f.Name, f.Value})
		}
	}
	return jinja.CaseInsensitiveDict(pairs)
}

// bodyValue returns a mapping for a form, the value if the body is JSON, otherwise a string.
func bodyValue(body receive.Body) jinja.Value {
	if body.Form {
		return pairsValue(body.Pairs)
	}
	if v, err := jinja.FromJSON(body.Text); err == nil {
		return v
	}
	return jinja.Str(body.Text)
}

func pairsValue(pairs []receive.Pair) jinja.Value {
	entries := make([]jinja.Pair, len(pairs))
	for i, p := range pairs {
		entries[i] = textEntry(p.Key, p.Value)
		if f := p.File; f != nil {
			entries[i].Value = jinja.Dict(textEntry("name", f.Name), textEntry("type", f.Type),
				jinja.Pair{Key: jinja.Str("size"), Value: jinja.Int(f.Size)}, textEntry("sha256", f.SHA256))
		}
	}
	return jinja.Dict(entries...)
}

func textEntry(key, value string) jinja.Pair {
	return jinja.Pair{Key: jinja.Str(key), Value: jinja.Str(value)}
}
