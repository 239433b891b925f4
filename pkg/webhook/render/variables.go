package render

import (
	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/webhook/receive"
)

// variables returns the variables of a template, limited to those that it uses.
func variables(t *jinja.Template, r *receive.Request, body receive.Body) jinja.Vars {
	vars := make(jinja.Vars, 5)
	set := func(name string, value func() jinja.Value) {
		if t.Reads(name) {
			vars[name] = value()
		}
	}
	set("method", func() jinja.Value { return jinja.Str(r.Method) })
	set("headers", func() jinja.Value { return headersValue(r) })
	set("body", func() jinja.Value { return bodyValue(body) })
	set("query", func() jinja.Value { return pairsValue(receive.ParseQuery(r.Query)) })
	set("path", func() jinja.Value { return jinja.Str(r.Path) })
	return vars
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
