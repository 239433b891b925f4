package inference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func mustInfer(t require.TestingT, samples ...string) *Schema {
	var merged *Schema
	for _, sample := range samples {
		one, err := Of([]byte(sample))
		require.NoError(t, err)
		merged = Merge(merged, one)
	}
	return merged
}

func TestSchemasOfSamples(t *testing.T) {
	t.Parallel()
	nested := strings.Repeat(`{"a":`, 9) + "1" + strings.Repeat("}", 9)
	for name, c := range map[string]struct {
		samples []string
		want    string
	}{
		"empty object":            {[]string{`{}`}, `{"type":"object"}`},
		"all types":               {[]string{`{"a":[1],"b":true,"c":1,"d":null,"e":1.0,"f":{},"g":""}`}, `{"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"}},"b":{"type":"boolean"},"c":{"type":"integer"},"d":{"type":"null"},"e":{"type":"number"},"f":{"type":"object"},"g":{"type":"string"}},"required":["a","b","c","d","e","f","g"]}`},
		"required":                {[]string{`{"a":1,"b":1}`, `{"a":1}`, `{"a":1,"c":1}`}, `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"},"c":{"type":"integer"}},"required":["a"]}`},
		"union of types":          {[]string{`{"a":1}`, `{"a":null}`, `{"a":"x"}`}, `{"type":"object","properties":{"a":{"type":["integer","null","string"]}},"required":["a"]}`},
		"number includes integer": {[]string{`{"a":1}`, `{"a":1e3}`}, `{"type":"object","properties":{"a":{"type":"number"}},"required":["a"]}`},
		"items of all arrays":     {[]string{`{"a":[]}`, `{"a":[1,"x"]}`, `{"a":[null]}`}, `{"type":"object","properties":{"a":{"type":"array","items":{"type":["integer","null","string"]}}},"required":["a"]}`},
		"UUID":                    {[]string{`{"a":"0f5cbb9e-51f0-4b3c-8d1b-2f0f4f6d0b11"}`}, `{"type":"object","properties":{"a":{"type":"string","format":"uuid"}},"required":["a"]}`},
		"date and time":           {[]string{`{"a":"2026-01-02T03:04:05.678Z"}`, `{"a":"2026-01-02T03:04:05+02:00"}`}, `{"type":"object","properties":{"a":{"type":"string","format":"date-time"}},"required":["a"]}`},
		"impossible date":         {[]string{`{"a":"2026-02-30T03:04:05Z"}`}, `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`},
		"two formats":             {[]string{`{"a":"2026-01-02T03:04:05Z"}`, `{"a":"x"}`}, `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`},
		"long name":               {[]string{`{"` + strings.Repeat("n", maxName+1) + `":1,"b":"x"}`}, `{"type":"object","additionalProperties":{"type":["integer","string"]}}`},
		"too deep":                {[]string{nested}, strings.Repeat(`{"type":"object","properties":{"a":`, 8) + "{}" + strings.Repeat(`},"required":["a"]}`, 8)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, string(mustInfer(t, c.samples...).JSON()))
		})
	}
}

func TestObjectsWithManyNamesAreMaps(t *testing.T) {
	t.Parallel()
	var merged *Schema
	for i := range maxProperties {
		merged = Merge(merged, mustInfer(t, fmt.Sprintf(`{"customer-%d":{"n":%d}}`, i, i)))
	}
	require.Len(t, merged.properties, maxProperties)
	merged = Merge(merged, mustInfer(t, `{"one more":{"m":null}}`))
	require.JSONEq(t, `{"type":"object","additionalProperties":{"type":"object","properties":{"n":{"type":"integer"},"m":{"type":"null"}}}}`, string(merged.JSON()))
	require.Same(t, merged, Merge(merged, nil))
	require.Equal(t, merged.JSON(), Merge(mustInfer(t, `{"customer-7":{"n":7}}`), merged).JSON())
}

// values draws JSON whose names and formats are few, so that samples have some in common.
func values(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 8
		if depth == 0 {
			kinds = 6
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return rapid.IntRange(-3, 3).Draw(t, "integer")
		case 3:
			return json.RawMessage(rapid.SampledFrom([]string{"1.5", "2.0", "1e2", "-0"}).Draw(t, "number"))
		case 4:
			return rapid.SampledFrom([]string{"", "x", "é\u2028"}).Draw(t, "text")
		case 5:
			return rapid.SampledFrom([]string{
				"0F5cbb9e-51f0-4b3c-8d1b-2f0f4f6d0b11", "2026-01-02T03:04:05.678Z", "2024-02-29T23:59:59-23:59", "2026-13-01T00:00:00Z",
			}).Draw(t, "format")
		case 6:
			return rapid.SliceOfN(values(depth-1), 0, 3).Draw(t, "array")
		}
		return objects(depth).Draw(t, "object")
	})
}

func objects(depth int) *rapid.Generator[map[string]any] {
	return rapid.Custom(func(t *rapid.T) map[string]any {
		names := rapid.SampledFrom([]string{"a", "b", "c", "a\"", strings.Repeat("l", maxName+1)})
		o := rapid.MapOfN(names, values(depth-1), 0, 4).Draw(t, "members")
		for i := range rapid.SampledFrom([]int{0, 0, 0, 0, maxProperties / 2, maxProperties}).Draw(t, "many") {
			o[fmt.Sprintf("k%d-%d", rapid.IntRange(0, 2).Draw(t, "prefix"), i)] = i
		}
		return o
	})
}

func sample(t *rapid.T) string {
	text, err := json.Marshal(objects(rapid.SampledFrom([]int{1, 2, 3, 10}).Draw(t, "depth")).Draw(t, "sample"))
	require.NoError(t, err)
	return string(text)
}

func validates(t require.TestingT, schema, sample []byte) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	require.NoError(t, c.AddResource("urn:schema", doc))
	compiled, err := c.Compile("urn:schema")
	require.NoError(t, err)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(sample))
	require.NoError(t, err)
	require.NoError(t, compiled.Validate(value), "schema %s, sample %s", schema, sample)
}

func TestEverySampleSatisfiesTheMergedSchema(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		samples := make([]string, rapid.IntRange(1, 5).Draw(t, "samples"))
		for i := range samples {
			samples[i] = sample(t)
		}
		merged := mustInfer(t, samples...)
		within := merged.Within(rapid.IntRange(0, 400).Draw(t, "bytes"))
		for _, s := range samples {
			validates(t, merged.JSON(), []byte(s))
			validates(t, within.JSON(), []byte(s))
		}
	})
}

func TestMergingIsCommutativeAssociativeAndIdempotent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := mustInfer(t, sample(t)), mustInfer(t, sample(t), sample(t)), mustInfer(t, sample(t))
		text := func(s *Schema) string { return string(s.JSON()) }
		require.Equal(t, text(Merge(a, b)), text(Merge(b, a)))
		require.Equal(t, text(Merge(Merge(a, b), c)), text(Merge(a, Merge(b, c))))
		require.Equal(t, text(Merge(a, b)), text(Merge(Merge(a, b), b)))
		require.Equal(t, text(a), text(Merge(a, a)))
	})
}

func TestASchemaIncludesThoseThatChangeNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := mustInfer(t, sample(t), sample(t)), mustInfer(t, sample(t))
		for _, one := range []*Schema{a, b} {
			require.True(t, Merge(a, b).includes(one))
		}
		require.Equal(t, string(Merge(b, a).JSON()) == string(a.JSON()), a.includes(b))
	})
}

func TestTextsAreParsed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := mustInfer(t, sample(t), sample(t)), mustInfer(t, sample(t))
		parsed, err := Parse(a.JSON())
		require.NoError(t, err)
		require.Equal(t, string(a.JSON()), string(parsed.JSON()))
		require.Equal(t, string(Merge(a, b).JSON()), string(Merge(parsed, b).JSON()))
	})
	for name, text := range map[string]string{
		"no JSON": `{`, "no object": `[]`, "no type": `{"properties":{}}`, "unknown type": `{"type":"date"}`, "type of a property": `{"type":"object","properties":{"a":1}}`,
		"type of items": `{"type":"array","items":true}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse([]byte(text))
			require.Error(t, err)
		})
	}
	none, err := Parse(nil)
	require.NoError(t, err)
	require.Nil(t, none.JSON())
}

func TestSchemasFitIntoTheirBytes(t *testing.T) {
	t.Parallel()
	s := mustInfer(t, `{"a":{"b":{"c":{"d":1}}},"e":"x"}`)
	whole := len(s.JSON())
	require.Same(t, s, s.Within(whole))
	require.Equal(t, `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{}},"required":["b"]},"e":{"type":"string"}},"required":["a","e"]}`,
		string(s.Within(140).JSON()))
	require.Equal(t, `{}`, string(s.Within(1).JSON()))
}

func FuzzOf(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":null}],"c":"2026-01-02T03:04:05Z"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Of(text)
		if err != nil {
			return
		}
		parsed, err := Parse(s.JSON())
		require.NoError(t, err)
		require.Equal(t, string(s.JSON()), string(parsed.JSON()))
	})
}

func BenchmarkOf(b *testing.B) {
	text := []byte(`{"id":"0f5cbb9e-51f0-4b3c-8d1b-2f0f4f6d0b11","at":"2026-01-02T03:04:05Z","lines":[` + strings.Repeat(`{"sku":"a-1","count":2,"price":1.5},`, 25) +
		`{"sku":"a-2","count":1,"price":2}],"customer":{"name":"A","address":{"city":"B","street":"C"}}}`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s, err := Of(text)
		require.NoError(b, err)
		_ = s.JSON()
	}
}
