// Package preset describes how the webhooks of known providers are set up: a template, a signature scheme, handshakes,
// deduplication, and a sample request in the provider's documented form.
//
//	presets/<name>/template.jinja   the template; @resource.id and @resource.name stand for the vocabulary's labels
//	presets/<name>/sample.http      header fields, an empty line, the body
//
// The samples are invented; only their form is the providers'.
package preset

import (
	"bufio"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"strings"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

//go:embed presets
var files embed.FS

// ErrUnknown reports a name that no preset has.
var ErrUnknown = errors.New("unknown preset")

// All returns the presets in the order in which lists show them.
func All(v vocabulary.Vocabulary) ([]*orchv1.WebhookPreset, error) {
	out := make([]*orchv1.WebhookPreset, len(definitions))
	for i, d := range definitions {
		var err error
		if out[i], err = d.build(v); err != nil {
			return nil, fmt.Errorf("build preset %s: %w", d.name, err)
		}
	}
	return out, nil
}

// Find returns the preset of a name, or ErrUnknown.
func Find(v vocabulary.Vocabulary, name string) (*orchv1.WebhookPreset, error) {
	for _, d := range definitions {
		if d.name == name {
			return d.build(v)
		}
	}
	return nil, fmt.Errorf("%w: %s", ErrUnknown, name)
}

// build returns the preset in the names of a vocabulary.
func (d definition) build(v vocabulary.Vocabulary) (*orchv1.WebhookPreset, error) {
	template, err := files.ReadFile(d.file("template.jinja"))
	if err != nil {
		return nil, err
	}
	labels := strings.NewReplacer("@resource.id", v.ResourceID(), "@resource.name", v.ResourceName())
	fields := struct {
		Template      string        `json:"template"`
		Verification  *verification `json:"verification,omitempty"`
		Deduplication string        `json:"deduplication,omitempty"`
		Handshakes    []string      `json:"handshakes,omitempty"`
		Methods       []string      `json:"methods,omitempty"`
	}{labels.Replace(string(template)), d.verification, d.deduplication, d.handshakes, d.methods}
	webhook, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	sample, err := d.sample()
	if err != nil {
		return nil, err
	}
	return &orchv1.WebhookPreset{
		Name: d.name, Title: d.title, Description: d.description, Documentation: d.documentation, Secret: d.needs,
		Webhook: webhook, Sample: sample,
	}, nil
}

// file returns the path of one of the preset's files.
func (d definition) file(name string) string {
	return "presets/" + cmp.Or(d.like, d.name) + "/" + name
}

// sample reads the preset's sample request.
func (d definition) sample() (*orchv1.WebhookPresetSample, error) {
	file, err := files.Open(d.file("sample.http"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	reader := bufio.NewReader(file)
	header, err := textproto.NewReader(reader).ReadMIMEHeader()
	if err != nil {
		return nil, fmt.Errorf("read sample: %w", err)
	}
	body, err := io.ReadAll(reader)
	if err != nil {
		return nil, fmt.Errorf("read sample: %w", err)
	}
	out := &orchv1.WebhookPresetSample{Method: http.MethodPost, Headers: map[string]string{}, Body: strings.TrimSuffix(string(body), "\n")}
	for name := range header {
		out.Headers[name] = header.Get(name)
	}
	return out, nil
}
