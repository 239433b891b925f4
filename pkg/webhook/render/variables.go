package render

import (
	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/webhook/jsonvalue"
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
	// The common case is read by the faster parser; what nests deeper than it takes, by the engine's own.
	if v, err := jsonvalue.Parse(body.Text); err == nil {
		if value, err := valueOf(v); err == nil {
			return value
		}
	}
	if v, err := jinja.FromJSON([]byte(body.Text)); err == nil {
		return v
	}
	return jinja.Str(body.Text)
}

// valueOf is a JSON value as templates see it.
func valueOf(v jsonvalue.Value) (jinja.Value, error) {
	switch v.Kind() {
	case jsonvalue.Null:
		return jinja.None, nil
	case jsonvalue.Bool:
		return jinja.Bool(v.True()), nil
	case jsonvalue.Number:
		return jinja.FromJSON([]byte(v.Str()))
	case jsonvalue.String:
		return jinja.Str(v.Str()), nil
	case jsonvalue.Array:
		items := make([]jinja.Value, len(v.Items()))
		for i, item := range v.Items() {
			var err error
			if items[i], err = valueOf(item); err != nil {
				return nil, err
			}
		}
		return jinja.List(items...), nil
	}
	pairs := make([]jinja.Pair, len(v.Members()))
	for i, m := range v.Members() {
		value, err := valueOf(m.Value)
		if err != nil {
			return nil, err
		}
		pairs[i] = jinja.Pair{Key: jinja.Str(m.Key), Value: value}
	}
	return jinja.Dict(pairs...), nil
}

func pairsValue(pairs []receive.Pair) jinja.Value {
	entries := make([]jinja.Pair, len(pairs))
	for i, p := range pairs {
		entries[i] = jinja.Pair{Key: jinja.Str(p.Key), Value: jinja.Str(p.Value)}
	}
	return jinja.Dict(entries...)
}
