package webhook

import (
	"strings"

	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/vocabulary"
)

// cloudEvent is a CloudEvent as it was read.
type cloudEvent struct {
	attributes []jinja.Pair // Without data.
	data       jinja.Value  // None when it has no data.
}

// fromCloudEvent is the filter of that name; its argument are the request's headers.
func fromCloudEvent(vocab vocabulary.Vocabulary) jinja.FilterFunc {
	return func(call *jinja.Call) (jinja.Value, error) {
		headers := call.Arg(0, "headers")
		if headers == nil || !jinja.IsDict(headers) {
			return nil, call.Errorf("from_cloud_event() takes the request's headers as its argument")
		}
		e, err := readCloudEvent(call, headers)
		if err != nil {
			return nil, err
		}
		for _, name := range []string{"specversion", "id", "source", "type"} {
			if e.text(name) == "" {
				return nil, call.Errorf("the CloudEvent's attribute %s is missing or no text", name)
			}
		}
		return jinja.PrintAsJSON(e.event(vocab)), nil
	}
}

func readCloudEvent(call *jinja.Call, headers jinja.Value) (cloudEvent, error) {
	media := mediaType(header(headers, "content-type"))
	if media == "application/cloudevents-batch+json" {
		return cloudEvent{}, call.Errorf("a batch of CloudEvents is not taken: one request is one event")
	}
	if _, binary := jinja.Get(headers, "ce-specversion"); binary {
		return readBinary(call, headers)
	}
	if _, structured := jinja.Get(call.Value, "specversion"); structured {
		return readStructured(call)
	}
	if _, list := jinja.Elements(call.Value); list {
		return cloudEvent{}, call.Errorf("a list is no CloudEvent: one request is one event")
	}
	return cloudEvent{}, call.Errorf("the request is no CloudEvent: neither a header ce-specversion nor a specversion in the body")
}

// text is an attribute that is a text; empty when it is absent or something else.
func (e cloudEvent) text(name string) string {
	for _, p := range e.attributes {
		if key, _ := jinja.AsString(p.Key); key == name {
			value, _ := jinja.AsString(p.Value)
			return value
		}
	}
	return ""
}

// event is the event that the CloudEvent becomes.
func (e cloudEvent) event(vocab vocabulary.Vocabulary) jinja.Value {
	id := e.text("subject")
	if id == "" {
		id = e.text("source")
	}
	pairs := []jinja.Pair{
		entry("event", jinja.Str(e.text("type"))),
		entry("resource", jinja.Dict(entry(vocab.ResourceID(), jinja.Str(id)))),
	}
	if at := e.text("time"); at != "" {
		pairs = append(pairs, entry("occurred", jinja.Str(at)))
	}
	return jinja.Dict(append(pairs, entry("payload", jinja.Dict(
		entry("data", e.data),
		entry("cloudevents", jinja.Dict(e.attributes...)),
	)))...)
}

func entry(key string, value jinja.Value) jinja.Pair {
	return jinja.Pair{Key: jinja.Str(key), Value: value}
}

// header is the value of a header field; empty when it is absent.
func header(headers jinja.Value, name string) string {
	v, _ := jinja.Get(headers, name)
	s, _ := jinja.AsString(v)
	return s
}

// mediaType is a Content-Type without its parameters, in lower case.
func mediaType(contentType string) string {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(media))
}

// isJSON tells whether a media type is JSON or built upon it.
func isJSON(media string) bool {
	return media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json")
}
