package action

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/orch-project/orch/services/orchestration/internal/egress"
)

// custom makes the request that a custom webhook block describes. A {{key}} in its texts stands for the secret of that
// key, the subject, the body, or the block's name.
func custom(b *block, subject, body string) ([]*egress.Message, error) {
	values := map[string]string{"subject": subject, "body": body, "name": b.text("name")}
	for key, value := range b.object("secrets") {
		if text, ok := value.(string); ok {
			values[key] = text
		}
	}
	filled, _ := fill(map[string]any{
		"url": b.text("url"), "params": b.data["params"], "json_data": b.data["json_data"], "form_data": b.data["form_data"],
		"headers": b.data["headers"], "cookies": b.data["cookies"],
	}, values).(map[string]any)
	address, err := url.Parse(filled["url"].(string))
	if err != nil {
		return nil, errIncomplete
	}
	query := address.Query()
	for key, value := range texts(filled["params"]) {
		query.Set(key, value)
	}
	address.RawQuery = query.Encode()
	method := b.text("method")
	if method == "" {
		method = http.MethodPost
	}
	m := egress.NewMessage(method, address.String())
	switch {
	case filled["json_data"] != nil:
		m.JSON(filled["json_data"])
	case filled["form_data"] != nil:
		form := url.Values{}
		for key, value := range texts(filled["form_data"]) {
			form.Set(key, value)
		}
		m.Form(form)
	}
	for name, value := range texts(filled["headers"]) {
		m.SetSecret(name, value)
	}
	var cookies []string
	for name, value := range texts(filled["cookies"]) {
		cookies = append(cookies, (&http.Cookie{Name: name, Value: value}).String()) //nolint:gosec // It is sent, not set.
	}
	if len(cookies) > 0 {
		m.SetSecret("Cookie", strings.Join(cookies, "; "))
	}
	return []*egress.Message{m}, nil
}

// fill replaces each {{key}} in the texts of a value. Filled-in values are not searched again.
func fill(v any, values map[string]string) any {
	switch v := v.(type) {
	case string:
		var pairs []string
		for key, value := range values {
			pairs = append(pairs, "{{"+key+"}}", value, "{{ "+key+" }}", value)
		}
		return strings.NewReplacer(pairs...).Replace(v)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = fill(item, values)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, item := range v {
			filled, _ := fill(key, values).(string)
			object[filled] = fill(item, values)
		}
		return object
	}
	return v
}

func texts(v any) map[string]string {
	found := map[string]string{}
	object, _ := v.(map[string]any)
	for key, value := range object {
		if text, ok := value.(string); ok {
			found[key] = text
		}
	}
	return found
}
