package webhook

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/orch-project/orch/pkg/jinja"
)

// readStructured reads a CloudEvent that is the body, all of it. An attribute that is null is not set.
func readStructured(call *jinja.Call) (cloudEvent, error) {
	items, _ := jinja.Items(call.Value)
	if err := call.Work(len(items)); err != nil {
		return cloudEvent{}, err
	}
	e := cloudEvent{data: jinja.None}
	var encoded jinja.Value
	for _, item := range items {
		switch name, _ := jinja.AsString(item.Key); {
		case name == "data":
			e.data = item.Value
		case name == "data_base64":
			encoded = item.Value
		case !jinja.IsNone(item.Value):
			e.attributes = append(e.attributes, item)
		}
	}
	if encoded == nil || jinja.IsNone(encoded) {
		return e, nil
	}
	if !jinja.IsNone(e.data) {
		return cloudEvent{}, call.Errorf("the CloudEvent has both data and data_base64")
	}
	var err error
	e.data, err = decodeData(call, encoded, mediaType(e.text("datacontenttype")))
	return e, err
}

// decodeData decodes data_base64: a value when the data is JSON, a text when it is one, otherwise what it was.
func decodeData(call *jinja.Call, encoded jinja.Value, media string) (jinja.Value, error) {
	text, ok := jinja.AsString(encoded)
	if !ok {
		return nil, call.Errorf("the CloudEvent's data_base64 is no text")
	}
	if err := call.Charge(len(text)); err != nil {
		return nil, err
	}
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.Map(standard, text), "="))
	if err != nil {
		return nil, call.Errorf("the CloudEvent's data_base64 is not base64")
	}
	if isJSON(media) {
		if err := call.Charge(16 * len(data)); err != nil {
			return nil, err
		}
		if v, err := jinja.FromJSON(string(data)); err == nil {
			return v, nil
		}
	}
	if utf8.Valid(data) {
		return jinja.Str(string(data)), nil
	}
	return encoded, nil
}

// standard maps the signs of base64 for URLs to those of the standard one, and drops line breaks.
func standard(r rune) rune {
	switch r {
	case '-':
		return '+'
	case '_':
		return '/'
	case '\r', '\n':
		return -1
	}
	return r
}
