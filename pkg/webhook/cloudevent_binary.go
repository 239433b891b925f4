package webhook

import (
	"net/url"
	"strings"

	"github.com/orch-project/orch/pkg/jinja"
)

// readBinary reads a CloudEvent whose attributes are headers and whose data is the body.
func readBinary(call *jinja.Call, headers jinja.Value) (cloudEvent, error) {
	items, _ := jinja.Items(headers)
	if err := call.Work(len(items)); err != nil {
		return cloudEvent{}, err
	}
	e := cloudEvent{data: call.Value}
	for _, item := range items {
		name, _ := jinja.AsString(item.Key)
		name, isAttribute := strings.CutPrefix(strings.ToLower(name), "ce-")
		if !isAttribute || name == "" {
			continue
		}
		value, _ := jinja.AsString(item.Value)
		if err := call.Charge(len(value)); err != nil {
			return cloudEvent{}, err
		}
		if value = attributeText(value); value != "" {
			e.attributes = append(e.attributes, entry(name, jinja.Str(value)))
		}
	}
	if content := header(headers, "content-type"); content != "" {
		e.attributes = append(e.attributes, entry("datacontenttype", jinja.Str(content)))
	}
	if text, ok := jinja.AsString(e.data); ok && text == "" {
		e.data = jinja.None
	}
	return e, nil
}

// attributeText decodes a header's value as the HTTP binding of CloudEvents has it: perhaps in quotes with backslashes,
// then percent-encoded UTF-8. Malformed escapes are taken literally.
func attributeText(value string) string {
	value = strings.TrimSpace(value)
	if n := len(value); n >= 2 && value[0] == '"' && value[n-1] == '"' {
		value = unquote(value[1 : n-1])
	}
	if !strings.Contains(value, "%") {
		return value
	}
	var b strings.Builder
	for value != "" {
		if value[0] == '%' && len(value) >= 3 {
			if c, err := url.PathUnescape(value[:3]); err == nil {
				b.WriteString(c)
				value = value[3:]
				continue
			}
		}
		b.WriteByte(value[0])
		value = value[1:]
	}
	return strings.ToValidUTF8(b.String(), "\ufffd")
}

// unquote takes the backslashes out of a quoted string.
func unquote(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b = append(b, s[i])
	}
	return string(b)
}
