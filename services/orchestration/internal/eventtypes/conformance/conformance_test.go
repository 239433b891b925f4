package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/services/orchestration/internal/parameters"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestViolations(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ schema, payload, path, reason string }{
		"type":                  {`{"properties":{"a":{"type":["integer","null"]}}}`, `{"a":1.5}`, "/a", "is of type number instead of null or integer"},
		"integer with a point":  {`{"properties":{"a":{"type":"integer"}}}`, `{"a":1.0}`, "", ""},
		"required":              {`{"required":["a"]}`, `{}`, "", `lacks the required property "a"`},
		"item":                  {`{"properties":{"a":{"items":{"type":"string"}}}}`, `{"a":["x",1]}`, "/a/1", "is of type number instead of string"},
		"pointer":               {`{"additionalProperties":{"type":"string"}}`, `{"a/b~c":1}`, "/a~1b~0c", "is of type number instead of string"},
		"additional property":   {`{"properties":{"a":{}},"additionalProperties":false}`, `{"a":1,"b":1}`, "", `has the additional property "b"`},
		"first in order":        {`{"additionalProperties":{"type":"string"}}`, `{"b":1,"a":1}`, "/a", "is of type number instead of string"},
		"alternatives":          {`{"properties":{"a":{"anyOf":[{"properties":{"b":{"type":"string"}}},{"type":"null"}]}}}`, `{"a":{"b":1}}`, "/a", "satisfies no schema of anyOf"},
		"one of":                {`{"oneOf":[{},{}]}`, `{}`, "", "satisfies 2 schemas of oneOf"},
		"not":                   {`{"not":{"required":["a"]}}`, `{"a":1}`, "", "satisfies the schema of not"},
		"format":                {`{"properties":{"a":{"format":"uuid"}}}`, `{"a":"x"}`, "/a", "is no uuid"},
		"another format":        {`{"properties":{"a":{"format":"email"}}}`, `{"a":"x"}`, "", ""},
		"constant":              {`{"properties":{"a":{"const":[1,{"b":2}]}}}`, `{"a":[1.0,{"b":2}]}`, "", ""},
		"large number":          {`{"properties":{"a":{"maximum":5}}}`, `{"a":1e999999999}`, "/a", "has too many digits to compare"},
		"reference":             {`{"$defs":{"tree":{"properties":{"next":{"$ref":"#/$defs/tree"},"n":{"type":"integer"}}}},"$ref":"#/$defs/tree"}`, `{"next":{"next":{"n":"x"}}}`, "/next/next/n", "is of type string instead of integer"},
		"reference to itself":   {`{"$ref":"#"}`, `{}`, "", exhausted},
		"no JSON":               {`{}`, `{`, "", "is not JSON"},
		"boolean schema":        {`{"properties":{"a":false}}`, `{"a":1}`, "/a", "is not allowed"},
		"steps of alternatives": {`{"not":{"$ref":"#"}}`, `{}`, "", exhausted},
		"long reason":           {`{"required":["` + strings.Repeat("n", maxText+1) + `"]}`, `{}`, "", `lacks the required property "` + strings.Repeat("n", maxText-29) + "…"},
		"long path":             {`{"additionalProperties":false,"patternProperties":{"n":{"type":"null"}}}`, `{"` + strings.Repeat("n", 2*maxText) + `":1}`, "/" + strings.Repeat("n", maxText-1) + "…", "is of type number instead of null"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Compile([]byte(c.schema))
			require.NoError(t, err)
			got := s.Check([]byte(c.payload))
			if c.reason == "" {
				require.Nil(t, got)
				return
			}
			require.Equal(t, &Violation{c.path, c.reason}, got)
		})
	}
}

func TestRefusedSchemas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ schema, reason string }{
		"no JSON":             {`{`, "EOF"},
		"invalid":             {`{"type":"date"}`, "date"},
		"another document":    {`{"$ref":"https://example.com/schema"}`, "outside"},
		"dynamic reference":   {`{"properties":{"a":{"$dynamicRef":"#x"}},"$defs":{"x":{"$dynamicAnchor":"x"}}}`, "$dynamicRef"},
		"unevaluated, nested": {`{"allOf":[{"items":{"unevaluatedProperties":false}}]}`, "unevaluatedProperties"},
		"too large":           {`{"enum":[` + strings.Repeat("{},", 3000) + `{}]}`, "complex"},
		"too many schemas":    {`{"allOf":[` + strings.Repeat("true,", 10_000) + `true]}`, "2 MiB"},
		"large patterns":      {`{"pattern":"` + strings.Repeat("a{1000}", 21) + `"}`, "patterns"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Compile([]byte(c.schema))
			var refused *parameters.SchemaError
			require.ErrorAs(t, err, &refused)
			require.Contains(t, err.Error(), c.reason)
		})
	}
}

// hostile are schemas with payloads whose checks would take seconds to hours.
func hostile() map[string]struct{ schema, payload string } {
	many := func(item string) string { return strings.Repeat(item+",", 1000) + item }
	members := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"name %d":0,`, i)
		}
		return b.String()
	}
	var required strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&required, `"name %d",`, i)
	}
	long := strings.Repeat("ab", 500_000)
	var texts strings.Builder
	for i := range 300 {
		fmt.Fprintf(&texts, `"%s%03d",`, strings.Repeat("x", 4000), i)
	}
	return map[string]struct{ schema, payload string }{
		"exponential references": {`{"$defs":{"a0":{}` + doubling(30) + `},"$ref":"#/$defs/a30"}`, `{}`},
		"equal items":            {`{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[` + numbers(20_000) + `]}`},
		"equal texts":            {`{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[` + texts.String() + `""]}`},
		"many items":             {`{"properties":{"a":{"items":{"type":"integer"}}}}`, `{"a":[` + strings.Repeat("1,", 20_000) + `1]}`},
		"items of alternatives":  {`{"properties":{"a":{"not":{"anyOf":[` + many(`{"contains":{"type":"null"}}`) + `]}}}}`, `{"a":[` + strings.Repeat("1,", 200_000) + `1]}`},
		"members":                {`{"allOf":[` + many(`{"additionalProperties":true}`) + `]}`, `{` + members(100_000) + `"a":0}`},
		"names of members":       {`{"allOf":[` + many(`{"patternProperties":{"^x":true}}`) + `]}`, `{` + members(100_000) + `"a":0}`},
		"required properties":    {`{"$defs":{"a":{"required":[` + required.String() + `"a"]}},"allOf":[` + many(`{"$ref":"#/$defs/a"}`) + `]}`, `{` + members(3000) + `"a":0}`},
		"long name":              {`{"$defs":{"a0":{"not":{"additionalProperties":false}}` + doubling(14) + `},"$ref":"#/$defs/a14"}`, `{"` + long + `":0}`},
		"long text":              {`{"properties":{"a":{"pattern":"(a|b)*c$"}}}`, `{"a":"` + long + `"}`},
		"patterns":               {`{"properties":{"a":{"anyOf":[` + many(`{"pattern":"b$"}`) + `]}}}`, `{"a":"` + long + `"}`},
		"large pattern":          {`{"properties":{"a":{"pattern":"((a|b)(a|b)?){400}[0-9]"}}}`, `{"a":"` + long + `"}`},
		"lengths":                {`{"properties":{"a":{"allOf":[` + many(`{"minLength":1}`) + `]}}}`, `{"a":"` + strings.Repeat("é", 500_000) + `"}`},
		"formats":                {`{"properties":{"a":{"anyOf":[` + many(`{"format":"uuid"}`) + `]}}}`, `{"a":"` + strings.Repeat("-", 1_000_000) + `"}`},
		"exponents":              {`{"properties":{"a":{"items":{"multipleOf":0.3}}}}`, `{"a":[` + strings.Repeat("3e999,", 20_000) + `1]}`},
		"digits":                 {`{"properties":{"a":{"items":{"multipleOf":3}}}}`, `{"a":[` + strings.Repeat(strings.Repeat("3", 999)+",", 1000) + `1]}`},
	}
}

// numbers returns the numbers below n.
func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d,", i)
	}
	return b.String() + "-1"
}

func TestChecksAreBounded(t *testing.T) {
	t.Parallel()
	for name, c := range hostile() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Compile([]byte(c.schema))
			require.NoError(t, err)
			require.Equal(t, exhausted, s.Check([]byte(c.payload)).Reason)
		})
	}
}

func TestSmallPayloadsHaveFewSteps(t *testing.T) {
	t.Parallel()
	s, err := Compile([]byte(`{"allOf":[` + strings.Repeat("true,", minSteps+100) + `true]}`))
	require.NoError(t, err)
	require.Equal(t, exhausted, s.Check([]byte(`{}`)).Reason)
	require.Nil(t, s.Check([]byte(`{"text":"`+strings.Repeat("x", 100)+`"}`)))
}

// BenchmarkHostileChecks measures the steps of checks, without the parsing of the payload.
func BenchmarkHostileChecks(b *testing.B) {
	for name, c := range hostile() {
		b.Run(name, func(b *testing.B) {
			s, err := Compile([]byte(c.schema))
			require.NoError(b, err)
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(c.payload))
			require.NoError(b, err)
			n := stepsFor([]byte(c.payload))
			for b.Loop() {
				check := &check{steps: n}
				check.value(s.root, value)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/step")
		})
	}
}

// doubling returns definitions of which each refers twice to the one before it.
func doubling(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, `,"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i, i-1, i-1)
	}
	return b.String()
}

// schemas draws schemas with the keywords that a check supports.
func schemas(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		s := map[string]any{}
		plain := map[string][]any{
			"type":  {"string", "integer", "number", "object", "array", "null", []any{"string", "object"}, []any{"integer", "array"}},
			"const": {1, "x", map[string]any{"a": 1}}, "enum": {[]any{1, "x", nil}, []any{[]any{}, map[string]any{}}}, "minimum": {0, 1.5}, "exclusiveMaximum": {2},
			"multipleOf": {2, 0.5}, "minLength": {1}, "maxLength": {1}, "pattern": {"^x"}, "format": {"uuid", "date-time"}, "minItems": {1}, "maxItems": {1},
			"uniqueItems": {true}, "required": {[]any{"a"}, []any{"a", "b"}}, "minProperties": {1}, "maxProperties": {1},
			"dependentRequired": {map[string]any{"a": []any{"b"}}}, "minContains": {0, 2}, "maxContains": {1}, "additionalProperties": {false, true},
		}
		for _, keyword := range rapid.SliceOfNDistinct(rapid.SampledFrom(sortedKeys(plain)), 0, 3, rapid.ID).Draw(t, "keywords") {
			s[keyword] = rapid.SampledFrom(plain[keyword]).Draw(t, keyword)
		}
		if depth == 0 {
			return s
		}
		below := schemas(depth - 1)
		for _, keyword := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
			"not", "if", "then", "else", "items", "contains", "propertyNames", "additionalProperties", "allOf", "anyOf", "oneOf", "prefixItems",
			"properties", "patternProperties", "dependentSchemas", "$ref",
		}), 0, 3, rapid.ID).Draw(t, "applicators") {
			switch keyword {
			case "allOf", "anyOf", "oneOf", "prefixItems":
				s[keyword] = rapid.SliceOfN(below, 1, 2).Draw(t, keyword)
			case "properties", "dependentSchemas":
				s[keyword] = rapid.MapOfN(rapid.SampledFrom([]string{"a", "b"}), below, 1, 2).Draw(t, keyword)
			case "patternProperties":
				s[keyword] = rapid.MapOfN(rapid.SampledFrom([]string{"^a", "b$"}), below, 1, 2).Draw(t, keyword)
			case "$ref":
				s[keyword] = rapid.SampledFrom([]string{"#/$defs/one", "#/$defs/two"}).Draw(t, keyword)
			default:
				s[keyword] = below.Draw(t, keyword)
			}
		}
		return s
	})
}

func sortedKeys(m map[string][]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// values draws JSON that such schemas distinguish.
func values(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
		case kind == 0 && depth > 0:
			return rapid.SliceOfN(values(depth-1), 0, 3).Draw(t, "array")
		case kind <= 2 && depth > 0:
			return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "ab"}), values(depth-1), 0, 3).Draw(t, "object")
		}
		return rapid.SampledFrom([]any{
			nil, true, 0, 1, 2, json.RawMessage("1.0"), 1.5, -1, "", "x", "xy", "0f5cbb9e-51f0-4b3c-8d1b-2f0f4f6d0b11", "2026-01-02T03:04:05Z",
		}).Draw(t, "value")
	})
}

// The library is the oracle. It asserts the same formats here.
func TestResultsAreThoseOfTheLibrary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		root, _ := schemas(3).Draw(t, "schema").(map[string]any)
		root["$defs"] = map[string]any{"one": schemas(0).Draw(t, "one"), "two": schemas(0).Draw(t, "two")}
		schema, err := json.Marshal(root)
		require.NoError(t, err)
		payload, err := json.Marshal(values(3).Draw(t, "payload"))
		require.NoError(t, err)
		s, err := Compile(schema)
		require.NoError(t, err)
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(payload))
		require.NoError(t, err)
		want := s.root.Validate(value)
		got := s.Check(payload)
		require.Equal(t, want == nil, got == nil, "schema %s, payload %s: %v, %v", schema, payload, want, got)
	})
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"type":"integer"}}}`), []byte(`{"a":1}`))
	f.Fuzz(func(_ *testing.T, schema, payload []byte) {
		if s, err := Compile(schema); err == nil {
			s.Check(payload)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	s, err := Compile([]byte(`{"type":"object","properties":{"id":{"type":"string","format":"uuid"},"lines":{"type":"array","items":{"type":"object",
		"properties":{"sku":{"type":"string"},"count":{"type":"integer"}},"required":["sku","count"]}}},"required":["id","lines"]}`))
	require.NoError(b, err)
	payload := []byte(`{"id":"0f5cbb9e-51f0-4b3c-8d1b-2f0f4f6d0b11","lines":[` + strings.Repeat(`{"sku":"a","count":1},`, 25) + `{"sku":"b","count":2}]}`)
	b.SetBytes(int64(len(payload)))
	for b.Loop() {
		require.Nil(b, s.Check(payload))
	}
}
