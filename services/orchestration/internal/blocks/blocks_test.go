package blocks

import (
	"encoding/json"
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/naming"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func object(t *testing.T, text string) *jsontree.Object {
	t.Helper()
	o, err := jsontree.ParseObject([]byte(text))
	require.NoError(t, err)
	return o
}

// TestChecksumsAreThoseOfClients compares with checksums that the Python client computed.
func TestChecksumsAreThoseOfClients(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/checksums.json")
	require.NoError(t, err)
	var cases []struct {
		Checksum string
		Fields   json.RawMessage
	}
	require.NoError(t, json.Unmarshal(text, &cases))
	require.NotEmpty(t, cases)
	for _, c := range cases {
		fields := object(t, string(c.Fields))
		require.Equal(t, c.Checksum, Checksum(fields), string(c.Fields))
		require.True(t, jsontree.Equal(fields, object(t, string(c.Fields))), "what is hashed stays as it is")
	}
}

func TestChecksumOfDefinitionsOfThemselvesEnds(t *testing.T) {
	t.Parallel()
	require.NotEmpty(t, Checksum(object(t, `{"definitions":{"A":{"x":{"$ref":"#/definitions/A"}}},"p":{"$ref":"#/definitions/A"}}`)))
}

func TestPythonWritesNumbers(t *testing.T) {
	t.Parallel()
	for lexeme, want := range map[string]string{
		"1": "1", "-0": "0", "007": "7", "1E5": "100000.0", "1.50": "1.5", "1e22": "1e+22", "1e-5": "1e-05", "0.0001": "0.0001",
		"9999999999999998.0": "9999999999999998.0", "1e999": "Infinity", "-1e999": "-Infinity", "-0.0": "-0.0",
		"123456789012345678901234567890": "123456789012345678901234567890",
	} {
		require.Equal(t, want, pythonNumber(lexeme), lexeme)
	}
}

// TestSystemTypesAreWhole: each has schemas of its own slug, their secrets are fields, and the blocks in them exist.
func TestSystemTypesAreWhole(t *testing.T) {
	t.Parallel()
	slugs := map[string]bool{}
	checksums := map[string]string{} // The slug of each schema.
	for _, s := range systemTypes() {
		for _, schema := range s.Schemas {
			checksums[schema.Checksum] = s.Slug
		}
	}
	for _, s := range systemTypes() {
		require.False(t, slugs[s.Slug], s.Slug)
		slugs[s.Slug] = true
		require.NoError(t, naming.Dashed(s.Slug, "slug", "slug"))
		require.NotEmpty(t, s.Name)
		require.NotEmpty(t, s.Description)
		if s.DocumentationURL != nil {
			require.Regexp(t, "^https://", *s.DocumentationURL)
		}
		require.NotEmpty(t, s.Schemas, s.Slug)
		for _, schema := range s.Schemas {
			require.Regexp(t, "^sha256:[0-9a-f]{64}$", schema.Checksum, s.Slug)
			require.NotEmpty(t, schema.Version, s.Slug)
			fields := object(t, string(schema.Fields))
			require.Equal(t, s.Slug, fields.Text("block_type_slug"))
			require.Equal(t, "object", fields.Text("type"))
			require.NotEmpty(t, fields.Text("title"))
			for _, nested := range nestedBlocks(fields) {
				require.Equal(t, nested.slug, checksums[nested.checksum], "%s: the block in %s is there", s.Slug, nested.field)
			}
			properties := fields.Object("properties")
			secret, err := secretFields(&orchv1.BlockSchema{Fields: schema.Fields})
			require.NoError(t, err)
			for _, path := range parsePaths(secret) {
				require.NotNil(t, properties.Object(path[0]), "%s: %v", s.Slug, path)
			}
		}
	}
	require.Len(t, slugs, 54)
}

// BenchmarkSystemTypes measures what the first call of a process costs: the files of all types are read and parsed once.
func BenchmarkSystemTypes(b *testing.B) {
	names, err := fs.Glob(systemFiles, "system/*.json")
	require.NoError(b, err)
	for b.Loop() {
		for _, name := range names {
			_, err := readSystemType(name)
			require.NoError(b, err)
		}
	}
}

func schemaWithSecrets(t *testing.T, list ...string) *orchv1.BlockSchema {
	t.Helper()
	text, err := json.Marshal(map[string]any{"secret_fields": list})
	require.NoError(t, err)
	return &orchv1.BlockSchema{Fields: text}
}

var redactions = []struct {
	name   string
	secret []string
	data   string
	want   string
}{
	{"a field", []string{"a", "a"}, `{"a":"x","b":"y"}`, `{"a":"********","b":"y"}`},
	{"a field that holds more", []string{"a"}, `{"a":{"b":[1,{"c":2}]}}`, `{"a":"********"}`},
	{"a field that is not text", []string{"a", "b", "c"}, `{"a":1,"b":false,"c":[]}`, `{"a":"********","b":"********","c":"********"}`},
	{"nothing", []string{"a", "b"}, `{"a":null}`, `{"a":null}`},
	{"below", []string{"a.b"}, `{"a":{"b":"x","c":"y"},"b":"z"}`, `{"a":{"b":"********","c":"y"},"b":"z"}`},
	{"a dot in a name is no step", []string{"a.b"}, `{"a.b":"x"}`, `{"a.b":"x"}`},
	{"everything below", []string{"a.*"}, `{"a":{"b":"x","c":{"d":1,"e":[2]}},"f":3}`, `{"a":{"b":"********","c":{"d":"********","e":"********"}},"f":3}`},
	{"everything below, and a name", []string{"a.*.b"}, `{"a":{"x":{"b":1,"c":2}}}`, `{"a":{"x":{"b":"********","c":"********"}}}`},
	{"everything", []string{"*"}, `{"a":1,"b":{"c":2}}`, `{"a":"********","b":{"c":"********"}}`},
	{"nothing below", []string{"a.*"}, `{"a":{}}`, `{"a":{}}`},
	{"a text instead of what is below", []string{"a.*"}, `{"a":"x"}`, `{"a":"********"}`},
	{"in a list", []string{"a.b"}, `{"a":[{"b":"x"},{"b":"y","c":"z"},null]}`, `{"a":[{"b":"********"},{"b":"********","c":"z"},null]}`},
	{"a list below", []string{"a.*"}, `{"a":{"b":["x",{"c":"y"}],"d":{},"e":{"f":[]}}}`, `{"a":{"b":"********","d":{},"e":{"f":"********"}}}`},
	{"a list instead of what is below", []string{"a.*"}, `{"a":["x",{"b":"y"}]}`, `{"a":"********"}`},
	{"in a map", []string{"a.b"}, `{"a":{"k1":{"b":"x"},"k2":{"b":"y"}}}`, `{"a":{"k1":{"b":"********"},"k2":{"b":"********"}}}`},
	{"beside a member of that name", []string{"a.b"}, `{"a":{"b":"x","c":{"b":"y"}}}`, `{"a":{"b":"********","c":{"b":"********"}}}`},
	{"something else", []string{"a.b.c"}, `{"a":"x","b":[1]}`, `{"a":"x","b":[1]}`},
}

func TestSecretsAreObfuscated(t *testing.T) {
	t.Parallel()
	for _, c := range redactions {
		secret, err := secretFields(schemaWithSecrets(t, c.secret...))
		require.NoError(t, err)
		data := object(t, c.data)
		redact(data, parsePaths(secret))
		require.Equal(t, c.want, string(jsontree.Text(data)), c.name)
	}
}

// TestWhatWasReadCanBeSentBack: a client that sends what it was shown changes nothing.
func TestWhatWasReadCanBeSentBack(t *testing.T) {
	t.Parallel()
	for _, c := range redactions {
		sent := object(t, c.want)
		restore(sent, object(t, c.want), object(t, c.data))
		require.Equal(t, c.data, string(jsontree.Text(sent)), c.name)
	}
	for _, c := range []struct{ sent, shown, current, want string }{
		{`{"a":"new","b":"********"}`, `{"a":"********","b":"********"}`, `{"a":"x","b":"y"}`, `{"a":"new","b":"y"}`},
		{`{"a":"********"}`, `{"a":"plain"}`, `{"a":"plain"}`, `{"a":"********"}`},
		{`{"a":"********"}`, `{}`, `{}`, `{"a":"********"}`},
		{`{"a":["********","********"]}`, `{"a":["********"]}`, `{"a":["x"]}`, `{"a":["x","********"]}`},
	} {
		t.Run(c.sent, func(t *testing.T) {
			sent := object(t, c.sent)
			restore(sent, object(t, c.shown), object(t, c.current))
			require.Equal(t, c.want, string(jsontree.Text(sent)))
		})
	}
}

func TestDestinationsOfSecrets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, before, after, want string }{
		{"nothing", `{"url":"https://a","n":1}`, `{"url":"https://a","n":2}`, ""},
		{"a name", `{"smtp_server":"a"}`, `{"smtp_server":"b"}`, "smtp_server"},
		{"a name in camel case", `{"apiUrl":"a"}`, `{"apiUrl":"b"}`, "apiUrl"},
		{"a number", `{"port":25}`, `{"port":26}`, "port"},
		{"a field that is new", `{}`, `{"proxy":"a"}`, "proxy"},
		{"a field that is gone", `{"endpoint_url":"a"}`, `{}`, "endpoint_url"},
		{"below", `{"settings":{"connection":{"host":"a"}}}`, `{"settings":{"connection":{"host":"b"}}}`, "host"},
		{"an item of a list", `{"nodes":[{"host":"a"},{"host":"b"}]}`, `{"nodes":[{"host":"a"},{"host":"c"}]}`, "host"},
		{"a URL of any name", `{"basepath":"s3://a"}`, `{"basepath":"s3://b"}`, "basepath"},
		{"a host of any name", `{"databricks_instance":"x"}`, `{"databricks_instance":"evil.example.com:443"}`, "databricks_instance"},
		{"an IP address of any name", `{"where":"10.0.0.1"}`, `{"where":"10.0.0.2:80"}`, "where"},
		{"a switch", `{"allow_private_urls":true}`, `{"allow_private_urls":false}`, ""},
		{"an empty text", `{"url":""}`, `{"url":null}`, ""},
		{"a part of a word", `{"reporter":"a","curler":"b"}`, `{"reporter":"b","curler":"c"}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, changedDestination("", object(t, c.before), object(t, c.after)))
		})
	}
}

// TestUnsentSecrets: a request leaves a secret as it is if it does not mention it, or sends it as clients read it.
func TestUnsentSecrets(t *testing.T) {
	t.Parallel()
	fields := []string{"token", "nested.key", "map.*"}
	current := `{"token":"t","nested":[{"key":"k1","n":1},{"key":"k2"}],"map":{"a":"x","b":""}}`
	for _, c := range []struct {
		name, sent string
		want       []string
	}{
		{"everything anew", `{"token":"u","nested":[{"key":"n"}],"map":{"a":"y"}}`, nil},
		{"nothing", `{}`, nil},
		{"a text", `{"token":"********"}`, []string{"token"}},
		{"an item of a list", `{"nested":[{"key":"n"},{"key":"********"}]}`, []string{"nested.key"}},
		{"a member of a map", `{"map":{"a":"********","c":"new"}}`, []string{"map.*"}},
		{"an empty text", `{"map":{"b":"********"}}`, nil},
		{"a value that is no secret", `{"nested":[{"n":1}]}`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			before := object(t, current)
			shown := object(t, current)
			redact(shown, parsePaths(fields))
			require.Equal(t, c.want, fieldsWithin(unsentMembers(object(t, c.sent), shown, before), fields))
			require.Equal(t, current, string(jsontree.Text(before)), "the current data stays")
		})
	}
}

func TestReferencesAreFields(t *testing.T) {
	t.Parallel()
	const id = "0190a7c0-0000-7000-8000-000000000001"
	found, err := references(object(t, `{"a":{"$ref":{"block_document_id":"`+id+`"}},"b":[{"$ref":{}}],"c":{"d":{"$ref":1}},"e":null}`))
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "a", found[0].field)
	require.Equal(t, id, found[0].id.String())
	for _, bad := range []string{`{"a":{"$ref":{}}}`, `{"a":{"$ref":"x"}}`, `{"a":{"$ref":{"block_document_id":"x"}}}`, `{"a":{"$ref":null}}`} {
		_, err := references(object(t, bad))
		require.Error(t, err, bad)
	}
}

func TestReservedNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"Orch": true, "orch cloud": true, "ORCH-x": true, "OrchThing": true, "orch1": true, "Orchard": false, "My Orch": false, "": false, "Or": false,
	} {
		require.Equal(t, want, reserved(name, "orch"), name)
	}
}
