package rest_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// hostile are texts that a component might interpret.
var hostile = []string{
	"$where", "$", ".", "a.b.c", "$set.name", `{"$gt": ""}`, "a/b%2Fc", "../../x", "nul\x00inside", "😀 zwölf\u202e", "\u0000",
	"' OR 1=1 --", "{{ 7 * 7 }}", " ", strings.Repeat("x", 10_000), strings.Repeat("😀", 2_500),
}

// short names a text in a message.
func short(s string) string { return fmt.Sprintf("%.30q", s) }

// A name, a tag or a key is stored and returned unchanged, found by exact match, or refused with 422. It is never an
// operator, a path or a pattern.
func TestNamesAreNeverOperators(t *testing.T) {
	t.Parallel()
	s := start(t)
	flow := s.flow("plain")
	run := s.running()
	for _, c := range []struct {
		what string
		// Path and body of the request that stores the text; the text replaces a value.
		path string
		body func(text string) string
		// Where the response contains it, and the request that reads it again.
		shown, filter string
		query         func(text string) string
	}{
		{
			"flow name", "/flows/", func(x string) string { return `{"name": ` + x + `}` },
			"name", "/flows/filter", func(x string) string { return `{"flows": {"name": {"any_": [` + x + `]}}}` },
		},
		{
			"flow tag", "/flows/", func(x string) string { return `{"name": "` + uuid.NewString() + `", "tags": [` + x + `]}` },
			"tags.0", "/flows/filter", func(x string) string { return `{"flows": {"tags": {"all_": [` + x + `]}}}` },
		},
		{
			"flow run name", "/flow_runs/", func(x string) string { return `{"flow_id": "` + flow + `", "name": ` + x + `}` },
			"name", "/flow_runs/filter", func(x string) string { return `{"flow_runs": {"name": {"any_": [` + x + `]}}}` },
		},
		{
			"flow run tag", "/flow_runs/", func(x string) string { return `{"flow_id": "` + flow + `", "tags": [` + x + `]}` },
			"tags.0", "/flow_runs/filter", func(x string) string { return `{"flow_runs": {"tags": {"any_": [` + x + `]}}}` },
		},
		{
			"idempotency key", "/flow_runs/", func(x string) string { return `{"flow_id": "` + flow + `", "idempotency_key": ` + x + `}` },
			"idempotency_key", "/flow_runs/filter", func(x string) string { return `{"flow_runs": {"idempotency_key": {"any_": [` + x + `]}}}` },
		},
		{
			"state name", "/flow_runs/", func(x string) string {
				return `{"flow_id": "` + flow + `", "state": {"type": "PENDING", "name": ` + x + `}}`
			},
			"state.name", "/flow_runs/filter", func(x string) string { return `{"flow_runs": {"state": {"name": {"any_": [` + x + `]}}}}` },
		},
		{
			"task run name", "/task_runs/", func(x string) string {
				return `{"flow_run_id": "` + run + `", "task_key": "t", "dynamic_key": "` + uuid.NewString() + `", "name": ` + x + `}`
			},
			"name", "/task_runs/filter", func(x string) string { return `{"task_runs": {"name": {"any_": [` + x + `]}}}` },
		},
		{
			"deployment name", "/deployments/", func(x string) string { return `{"flow_id": "` + flow + `", "name": ` + x + `}` },
			"name", "/deployments/filter", func(x string) string { return `{"deployments": {"name": {"any_": [` + x + `]}}}` },
		},
		{
			"deployment tag", "/deployments/", func(x string) string {
				return `{"flow_id": "` + flow + `", "name": "` + uuid.NewString() + `", "tags": [` + x + `]}`
			},
			"tags.0", "/deployments/filter", func(x string) string { return `{"deployments": {"tags": {"all_": [` + x + `]}}}` },
		},
		{
			"artifact key", "/artifacts/", func(x string) string { return `{"key": ` + x + `}` },
			"key", "/artifacts/filter", func(x string) string { return `{"artifacts": {"key": {"any_": [` + x + `]}}}` },
		},
		{
			"artifact type", "/artifacts/", func(x string) string { return `{"type": ` + x + `}` },
			"type", "/artifacts/filter", func(x string) string { return `{"artifacts": {"type": {"any_": [` + x + `]}}}` },
		},
		{
			"variable name", "/variables/", func(x string) string { return `{"value": 1, "name": ` + x + `}` },
			"name", "/variables/filter", func(x string) string { return `{"variables": {"name": {"any_": [` + x + `]}}}` },
		},
		{
			"variable tag", "/variables/", func(x string) string {
				return `{"value": 1, "name": "v` + strings.ReplaceAll(uuid.NewString(), "-", "") + `", "tags": [` + x + `]}`
			},
			"tags.0", "/variables/filter", func(x string) string { return `{"variables": {"tags": {"all_": [` + x + `]}}}` },
		},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			for _, text := range hostile {
				x := quoted(t, text)
				got := s.send("POST", c.path, c.body(x), nil)
				if got.status == 422 {
					continue
				}
				require.Equal(t, 201, got.status, "%s: %s", short(text), got.body)
				require.Equal(t, text, got.text(c.shown), short(text))
				found := s.send("POST", c.filter, c.query(x), nil)
				if found.status == 422 { // Stored, but too long for a comparison.
					continue
				}
				require.Equal(t, 200, found.status, "%s: %s", short(text), found.body)
				require.Len(t, found.at(""), 1, "%s finds itself and nothing else", short(text))
				require.Equal(t, text, found.text("0."+c.shown), short(text))
			}
		})
	}
}

// A text in a path finds the object with exactly that name.
func TestNamesInPaths(t *testing.T) {
	t.Parallel()
	s := start(t)
	run := s.running()
	for _, text := range hostile {
		x, escaped := quoted(t, text), url.PathEscape(text)
		if made := s.send("POST", "/flows/", `{"name": `+x+`}`, nil); made.status == 201 && text != "." && len(escaped) < 8000 {
			require.Equal(t, made.text("id"), s.send("GET", "/flows/name/"+escaped, "", nil).text("id"), short(text))
		}
		made := s.send("POST", "/flow_runs/"+run+"/input", `{"key": `+x+`, "value": "v"}`, nil)
		require.Contains(t, []int{201, 422}, made.status, "%s: %s", short(text), made.body)
		if made.status == 201 && len(escaped) < 8000 {
			require.Equal(t, "v", string(s.send("GET", "/flow_runs/"+run+"/input/"+escaped, "", nil).body), short(text))
		}
	}
	require.Equal(t, 404, s.send("GET", "/flows/name/"+url.PathEscape(`{"$gt":""}`)+"x", "", nil).status)
}

// Clients own the keys of free-form objects: parameters, context, labels, values of variables, data of artifacts.
func TestKeysAreKeptAsTheyAre(t *testing.T) {
	t.Parallel()
	s := start(t)
	flow := s.flow("f")
	for _, text := range hostile {
		key := quoted(t, text)
		object := `{` + key + `: {` + key + `: 1}}`
		labels := `{` + key + `: "x"}`
		labelled := utf8.RuneCountInString(text) <= 250
		if !labelled {
			require.Equal(t, 422, s.send("POST", "/flow_runs/", `{"flow_id": "`+flow+`", "labels": `+labels+`}`, nil).status, short(text))
			labels = `{}`
		}
		run := s.send("POST", "/flow_runs/", `{"flow_id": "`+flow+`", "parameters": `+object+`, "context": `+object+`, "labels": `+labels+`}`, nil)
		require.Equal(t, 201, run.status, "%s: %s", short(text), short(string(run.body)))
		read := s.send("GET", "/flow_runs/"+run.text("id"), "", nil)
		want := map[string]any{text: map[string]any{text: 1.0}}
		require.Equal(t, want, read.at("parameters"), short(text))
		require.Equal(t, want, read.at("context"), short(text))
		if labelled {
			require.Equal(t, "x", read.at("labels").(map[string]any)[text], short(text))
		}
		variable := s.send("POST", "/variables/", `{"name": "v`+strings.ReplaceAll(uuid.NewString(), "-", "")+`", "value": `+object+`}`, nil)
		if variable.status != 422 {
			require.Equal(t, 201, variable.status, "%s: %s", short(text), variable.body)
			require.Equal(t, want, s.send("GET", "/variables/"+variable.text("id"), "", nil).at("value"), short(text))
		}
		artifact := s.send("POST", "/artifacts/", `{"data": `+object+`}`, nil)
		require.Equal(t, 201, artifact.status, "%s: %s", short(text), artifact.body)
		require.Equal(t, want, s.send("GET", "/artifacts/"+artifact.text("id"), "", nil).at("data"), short(text))
	}
}
