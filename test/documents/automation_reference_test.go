package documents_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

const automationReferenceHead = `# Triggers and actions

` + "`make gen`" + ` generates this page from the contract; do not edit it. [Automations](automations.md) explains what the fields cause, and
[ten automations](automation-examples.md) are complete files.

In a file of ` + "`orch automation apply`" + ` the targets of actions have names: ` + "`deployment: FLOW/NAME`" + `, ` + "`automation`" + `, ` + "`work_pool`" + `,
` + "`work_queue: POOL/QUEUE`" + ` and ` + "`block_document: TYPE/NAME`" + ` in place of the fields with ids, and durations may be numbers of seconds.
`

// schema is a schema of the OpenAPI document.
type schema struct {
	Ref         string            `json:"$ref"`
	Description string            `json:"description"`
	Type        string            `json:"type"`
	Format      string            `json:"format"`
	Properties  map[string]schema `json:"properties"`
	Required    []string          `json:"required"`
	OneOf       []schema          `json:"oneOf"`
	AllOf       []schema          `json:"allOf"`
	Enum        []string          `json:"enum"`
	Default     any               `json:"default"`
}

// TestAutomationReferenceIsCurrent writes the page of triggers and actions from the OpenAPI document.
func TestAutomationReferenceIsCurrent(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "pkg", "openapi", "testdata", "openapi.json"))
	require.NoError(t, err)
	var document struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	require.NoError(t, json.Unmarshal(text, &document))
	named := func(reference string) (s schema) {
		require.NoError(t, json.Unmarshal(document.Components.Schemas[filepath.Base(reference)], &s))
		return s
	}
	var page strings.Builder
	page.WriteString(automationReferenceHead)
	table := func(s schema) {
		page.WriteString("\n| Field | Type | Meaning |\n| --- | --- | --- |\n")
		for _, name := range slices.SortedFunc(maps.Keys(s.Properties), func(a, b string) int {
			return cmp.Or(cmp.Compare(index(s.Required, a), index(s.Required, b)), cmp.Compare(a, b))
		}) {
			if field := s.Properties[name]; name != "type" {
				kind := cmp.Or(field.Format, field.Type)
				if len(field.AllOf) > 0 {
					used := named(field.AllOf[0].Ref)
					kind = cmp.Or(strings.Join(used.Enum, ", "), used.Type, "see the meaning")
				}
				if slices.Contains(s.Required, name) {
					kind += "; required"
				}
				fmt.Fprintf(&page, "| `%s` | %s | %s |\n", name, kind, strings.ReplaceAll(field.Description, "|", `\|`))
			}
		}
	}
	for _, kind := range []struct{ title, schema string }{{"Triggers", "Trigger-Input"}, {"Actions", "Action-Input"}} {
		page.WriteString("\n## " + kind.title + "\n")
		for _, variant := range named(kind.schema).OneOf {
			s := named(variant.Ref)
			_, text, _ := strings.Cut(s.Description, " ")
			fmt.Fprintf(&page, "\n### %s\n\nIt %s\n", s.Properties["type"].Default, text)
			if len(s.Properties) > 1 {
				table(s)
			}
		}
		if kind.title == "Triggers" {
			page.WriteString("\n### The metric of a metric trigger\n")
			table(named("MetricTriggerQuery-Input"))
		}
	}

	path := filepath.Join(root, "docs", "automation-reference.md")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(page.String()), 0o600))
	}
	have, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Empty(t, gocmp.Diff(page.String(), string(have)), "run make gen")
}

// index is the position of a name in a list, after which the others follow.
func index(list []string, name string) int {
	if at := slices.Index(list, name); at >= 0 {
		return at
	}
	return len(list)
}
