package render

import (
	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/webhook/receive"
)

// variables are the names that a template knows.
func variables(r *receive.Request, body receive.Body) jinja.Vars {
	headers := make([][2]string, len(r.Header))
	for i, f := range r.Header {
		headers[i] = [2]string{f.Name, f.Value}
	}
	return jinja.Vars{
		"method":  jinja.Str(r.Method),
		"headers": jinja.CaseInsensitiveDict(headers),
		"body":    bodyValue(body),
		"query":   pairsValue(receive.ParseQuery(r.Query)),
		"path":    jinja.Str(r.Path),
	}
}

// bodyValue is a mapping for a form, the value when the body is JSON, otherwise a string.
func bodyValue(body receive.Body) jinja.Value {
	if body.Form {
		return pairsValue(body.Pairs)
	}
	if v, err := jinja.FromJSON([]byte(body.Text)); err == nil {
		return v
	}
	return jinja.Str(body.Text)
}

func pairsValue(pairs []receive.Pair) jinja.Value {
	entries := make([]jinja.Pair, len(pairs))
	for i, p := range pairs {
		entries[i] = jinja.Pair{Key: jinja.Str(p.Key), Value: jinja.Str(p.Value)}
	}
	return jinja.Dict(entries...)
}
