package pages

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/param"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// presetsView is the part of the form of a new webhook that offers presets.
type presetsView struct {
	Choices []choice
	// Name, Title, Text, Secret and Documentation describe the chosen preset; they are empty for none.
	Name, Title, Text, Secret, Documentation string
}

// presetCalls are the rpcs of the presets.
var presetCalls = []string{orchv1.WebhookService_ListWebhookPresets_FullMethodName}

// webhookPreset is a preset with the fields of its webhook as the API has them.
type webhookPreset struct {
	*orchv1.WebhookPreset
	fields       apicall.JSON
	template     string
	scheme       string
	verification apicall.JSON
}

// readPresets lists the presets and finds the one with a name. A nil preset means an empty name.
func readPresets(r *page.Request, name string) ([]*orchv1.WebhookPreset, *webhookPreset, error) {
	if name == "" && !r.May(presetCalls...) {
		return nil, nil, nil
	}
	list := apicall.New[*orchv1.WebhookPresetList](orchv1.WebhookService_ListWebhookPresets_FullMethodName, apicall.Input{})
	if err := r.Call(list); err != nil {
		if name == "" {
			return nil, nil, nil // The form works without presets.
		}
		return nil, nil, err
	}
	presets := list.Result().GetPresets()
	for _, p := range presets {
		if name != "" && p.GetName() == name {
			parsed, err := newWebhookPreset(p)
			return presets, parsed, err
		}
	}
	if name != "" {
		return nil, nil, &param.Invalid{Name: "preset", Value: show.Line(name, 40), Expected: "the name of a preset"}
	}
	return presets, nil, nil
}

func newWebhookPreset(p *orchv1.WebhookPreset) (*webhookPreset, error) {
	var preset struct {
		Template     string       `json:"template"`
		Verification apicall.JSON `json:"verification"`
	}
	parsed := &webhookPreset{WebhookPreset: p}
	if err := json.Unmarshal(p.GetWebhook(), &preset); err != nil {
		return nil, fmt.Errorf("decode preset %s: %w", p.GetName(), err)
	}
	if err := json.Unmarshal(p.GetWebhook(), &parsed.fields); err != nil {
		return nil, fmt.Errorf("decode preset %s: %w", p.GetName(), err)
	}
	parsed.template, parsed.verification = preset.Template, preset.Verification
	parsed.scheme, _ = preset.Verification["scheme"].(string)
	return parsed, nil
}

// fill returns the form as the preset has it.
func (p *webhookPreset) fill() webhookFields {
	f := webhookFields{preset: p.GetName(), name: p.GetName(), template: p.template, scheme: p.scheme}
	f.deduplication, _ = p.fields["deduplication"].(string)
	f.undefined, _ = p.fields["undefined"].(string)
	f.filter, _ = p.fields["filter"].(string)
	f.methods, f.handshakes = texts(p.fields["methods"]), texts(p.fields["handshakes"])
	if seconds, ok := p.fields["max_silence"].(float64); ok {
		f.silence = strconv.FormatFloat(seconds, 'f', -1, 64)
	}
	return f
}

// texts returns the texts of a JSON list.
func texts(list any) []string {
	var found []string
	values, _ := list.([]any)
	for _, v := range values {
		if s, ok := v.(string); ok {
			found = append(found, s)
		}
	}
	return found
}

// complete adds what the preset has and the form does not, such as the headers of its signature scheme.
func (p *webhookPreset) complete(body apicall.JSON) {
	for name, value := range p.fields {
		if _, has := body[name]; !has && name != "verification" && name != "deduplication" { // The form shows these two.
			body[name] = value
		}
	}
	if posted, has := body["verification"].(apicall.JSON); has && posted["scheme"] == p.scheme {
		verification := maps.Clone(p.verification)
		maps.Copy(verification, posted)
		body["verification"] = verification
	}
}

func newPresetsView(presets []*orchv1.WebhookPreset, chosen *webhookPreset) presetsView {
	var v presetsView
	if len(presets) > 0 {
		v.Choices = append(v.Choices, choice{Title: "none", Selected: chosen == nil})
	}
	for _, p := range presets {
		v.Choices = append(v.Choices, choice{Value: p.GetName(), Title: show.Line(p.GetTitle(), 60), Selected: chosen != nil && chosen.GetName() == p.GetName()})
	}
	if chosen != nil {
		v.Name, v.Title, v.Text = chosen.GetName(), show.Line(chosen.GetTitle(), 60), chosen.GetDescription()
		v.Secret, v.Documentation = chosen.GetSecret(), chosen.GetDocumentation()
	}
	return v
}
