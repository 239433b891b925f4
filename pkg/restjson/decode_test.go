package restjson_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/restjson"
	testv1 "github.com/orch-project/orch/proto/gen/orch/test/v1"
)

// fieldErrorsOf writes the field errors of an error as lines of "type loc msg".
func fieldErrorsOf(t *testing.T, err error) []string {
	t.Helper()
	e := restjson.AsErrors(err)
	require.NotNil(t, e, "%v", err)
	var list []struct {
		Type string
		Loc  []any
		Msg  string
	}
	require.NoError(t, json.Unmarshal(restjson.AppendErrors(nil, e.List), &list))
	var lines []string
	for _, f := range list {
		loc := make([]string, len(f.Loc))
		for i, step := range f.Loc {
			loc[i] = fmt.Sprint(step)
		}
		lines = append(lines, f.Type+" "+strings.Join(loc, ".")+" "+f.Msg)
	}
	return lines
}

// TestDecodeAndEncode returns what becomes of JSON that is read and written.
func TestDecodeAndEncode(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		m    proto.Message
		in   string
		want string // "" = in; a member alone where it starts with a quote
	}{
		"nullables, set": {&testv1.Nullables{}, `{"boolean":true,"small":-1,"integer":-9223372036854775808,"unsigned_small":4294967295,` +
			`"unsigned":18446744073709551615,"single":0.1,"number":0.1,"text":"","id":"` + someID + `","json":[1,1.0,1e2],"object":{"a":{}},` +
			`"color":"light-blue","time":"2026-11-21T03:41:42.549537Z","duration":60.5,"message":{},"list":[],"map":{},"union":1,"tuple":["` + someID + `",[]]}`, ""},
		"integers are exact":  {&testv1.Lists{}, `{"integers":[3.0,30e-1,0.3e1,9223372036854775807,9007199254740993.0,-0.0,1e18,-9223372036854775808]}`, `"integers":[3,3,3,9223372036854775807,9007199254740993,0,1000000000000000000,-9223372036854775808]`},
		"numbers of integers": {&testv1.Lists{}, `{"numbers":[1,-0,1e2,1e-7,123456789012345678]}`, `"numbers":[1.0,-0.0,100.0,1e-7,1.2345678901234568e+17]`},
		"times": {
			&testv1.Lists{}, `{"times":["2026-01-02T03:04:05Z","2026-01-02 03:04:05","2026-01-02t03:04:05z","2026-01-02T03:04:05.1234569Z",` +
				`"2026-01-02T03:04:05+02:00","2026-01-02T03:04:05-0030","2026-01-02T03:04Z","2026-01-02","2026-01-02T03:04:05.1"]}`,
			`"times":["2026-01-02T03:04:05Z","2026-01-02T03:04:05Z","2026-01-02T03:04:05Z","2026-01-02T03:04:05.123456Z",` +
				`"2026-01-02T01:04:05Z","2026-01-02T03:34:05Z","2026-01-02T03:04:00Z","2026-01-02T00:00:00Z","2026-01-02T03:04:05.100000Z"]`,
		},
		"durations": {
			&testv1.Lists{}, `{"durations":[0,1.5,-1.0000005,"P1DT2H","PT0.5S","-PT1M","P1W","P1Y2M","PT1,5S","P1.5D","PT1M1H",0.0000004,"+PT1S"]}`,
			`"durations":[0.0,1.5,-1.000001,93600.0,0.5,-60.0,604800.0,36720000.0,1.5,129600.0,3660.0,0.0,1.0]`,
		},
		"durations of days and a time": {
			&testv1.Lists{}, `{"durations":["00:01:00","1 day, 00:00:30.5","-2 days, 01:00:00","3d","15days","00:15","100:00:00"]}`,
			`"durations":[60.0,86430.5,-176400.0,259200.0,1296000.0,900.0,360000.0]`,
		},
		"UUIDs": {
			&testv1.Lists{}, `{"ids":["ABCDEFAB-1111-4111-8111-111111111111","abcdefab111141118111111111111111"]}`,
			`"ids":["abcdefab-1111-4111-8111-111111111111","abcdefab-1111-4111-8111-111111111111"]`,
		},
		"free JSON keeps lexemes and drops whitespace": {
			&testv1.Inlines{}, ` { "json" : { "a b" : [ 1.0 , 1e400 , 12345678901234567890 , "x \" , y" , "\u00e9\ud83d\ude00" ] , "a b":2 } } `,
			`"json":{"a b":[1.0,1e400,12345678901234567890,"x \" , y","\u00e9\ud83d\ude00"],"a b":2}`,
		},
		"escapes":                      {&testv1.TextList{}, `["\u00e9\ud83d\ude00\/\b\f\u0000","\\\""]`, `["é😀/\u0008\u000c\u0000","\\\""]`},
		"a typed union":                {&testv1.Lists{}, `{"unions":[1,1.0,true,"x",-0.0,9007199254740993]}`, `"unions":[1,1.0,true,"x",-0.0,9007199254740993]`},
		"an enum word before a string": {&testv1.Typed{}, `"light-blue"`, ""},
		"no enum word":                 {&testv1.Typed{}, `"blue"`, ""},
		"a list in a union":            {&testv1.Typed{}, `["x"]`, ""},
		"a map in a union":             {&testv1.Typed{}, `{"x":"y"}`, ""},
		"a number in a union":          {&testv1.Typed{}, `3`, `3.0`},
		"a keyed union":                {&testv1.Schedule{}, `{"timezone":"UTC","interval":"PT1H"}`, `{"interval":3600.0,"timezone":"UTC"}`},
		"another key":                  {&testv1.Schedule{}, `{"cron":"* * * * *"}`, `{"cron":"* * * * *","day_or":true}`},
		"no key":                       {&testv1.Schedule{}, `"hourly"`, ""},
		"a tagged union": {
			&testv1.Trigger{}, `{"triggers":[{"posture":"RED","type":"event"},{"type":"none"}],"within":"PT1M","type":"compound"}`,
			`{"type":"compound","triggers":[{"type":"event","expect":[],"threshold":1,"posture":"RED"},{"type":"none"}],"within":60.0}`,
		},
		"no tag: the variant that misses nothing": {&testv1.Trigger{}, `{"posture":"RED"}`, `{"type":"event","expect":[],"threshold":1,"posture":"RED"}`},
		"no tag: the other one":                   {&testv1.Trigger{}, `{"triggers":[]}`, `{"type":"compound","triggers":[],"within":null}`},
		"no tag: the one left":                    {&testv1.Trigger{}, `{}`, `{"type":"none"}`},
		"extra keys":                              {&testv1.Extra{}, `{"n": [1, 2],"type":"git","b":null}`, `{"type":"git","version":"","b":null,"n":[1,2]}`},
		"unknown keys are skipped":                {&testv1.Pair{}, `["` + someID + `",["a"]]`, ""},
		"a set drops what is repeated":            {&testv1.EventTrigger{}, `{"posture":"RED","expect":["b","a","b"],"zzz":{"a":[null]}}`, `{"type":"event","expect":["b","a"],"threshold":1,"posture":"RED"}`},
		"defaults": {&testv1.Defaults{}, `{}`, `{"boolean":true,"integer":42,"number":1.5,"text":"hello","object":{"a":1},"color":"light-blue","duration":60.0,` +
			`"list":["x"],"message":{"cron":"* * * * *","day_or":true},"nullable":true,"map":{"k":1}}`},
		"null is as absent, unless there is a null": {
			&testv1.Defaults{}, `{"boolean":null,"integer":null,"number":null,"text":null,"object":null,"color":null,"duration":null,"list":null,"message":null,"nullable":null,"map":null}`,
			`{"boolean":true,"integer":42,"number":1.5,"text":"hello","object":{"a":1},"color":"light-blue","duration":60.0,` +
				`"list":["x"],"message":{"cron":"* * * * *","day_or":true},"nullable":null,"map":{"k":1}}`,
		},
		"given values win over defaults": {&testv1.Defaults{}, `{"boolean":false,"integer":0,"number":0.0,"text":"","object":{},"color":"RED","duration":0.0,"list":[],"message":{"cron":"x","day_or":false},"nullable":false,"map":{}}`, ""},
		"a required key may be null":     {&testv1.Resource{}, `{"id":"` + someID + `","name":"n","description":null,"total":1,"page-token":"t"}`, ""},
		"internal keys are unknown":      {&testv1.Resource{}, `{"id":"` + someID + `","name":"n","description":"d","secret":"s"}`, `{"id":"` + someID + `","name":"n","description":"d","total":0,"page-token":""}`},
		"at the bounds":                  {&testv1.Bounds{}, `{"low":0,"above":1,"high":99.5,"long":"éé😀x","pattern":"abc","items":[9,-5],"set":["a","a","b"],"wait":1.5}`, `{"low":0,"above":1,"high":99.5,"long":"éé😀x","pattern":"abc","items":[9,-5],"set":["a","b"],"wait":1.5}`},
		"null in inline free JSON":       {&testv1.Inlines{}, `{"json":null,"jsons":[null,1],"list":null}`, `{"list":[],"map":{},"json":null,"jsons":[null,1]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := restjson.Unmarshal([]byte(c.in), c.m)
			require.NoError(t, err)
			got, err := restjson.Marshal(c.m)
			require.NoError(t, err)
			want := c.want
			if want == "" {
				want = c.in
			}
			if strings.HasPrefix(want, `"`) && strings.HasPrefix(strings.TrimSpace(c.in), "{") {
				// want has only one member of the object.
				require.Contains(t, string(got), want)
				return
			}
			require.Equal(t, want, string(got))
		})
	}
}

func TestDecodeErrors(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 127) + strings.Repeat("]", 127)
	for name, c := range map[string]struct {
		m    proto.Message
		in   string
		want []string
	}{
		"every kind": {&testv1.Scalars{}, `{"boolean":1,"small":2147483648,"integer":"3","unsigned_small":-1,"unsigned":18446744073709551616,"single":"x","number":1e999,` +
			`"text":5,"id":true,"object":[],"color":"BLUE","time":0,"duration":"1","message":[]}`, []string{
			"bool_type body.boolean Input should be a valid boolean",
			"less_than_equal body.small Input should be less than or equal to 2147483647",
			"int_type body.integer Input should be a valid integer",
			"greater_than_equal body.unsigned_small Input should be greater than or equal to 0",
			"less_than_equal body.unsigned Input should be less than or equal to 18446744073709551615",
			"float_type body.single Input should be a valid number",
			"finite_number body.number Input should be a finite number",
			"string_type body.text Input should be a valid string",
			"uuid_type body.id UUID input should be a string, bytes or UUID object",
			"dict_type body.object Input should be a valid dictionary",
			"enum body.color Input should be 'RED', 'light-blue' or 'GREEN'",
			"datetime_type body.time Input should be a valid datetime",
			"time_delta_parsing body.duration Input should be a valid timedelta, invalid digit in duration",
			"model_attributes_type body.message Input should be a valid dictionary or object to extract fields from",
		}},
		"integers out of range": {&testv1.Lists{}, `{"integers":[9223372036854775808,-9223372036854775809,9223372036854775807.5,1e19,1e99999999999,-1e400,0.5]}`, []string{
			"less_than_equal body.integers.0 Input should be less than or equal to 9223372036854775807",
			"greater_than_equal body.integers.1 Input should be greater than or equal to -9223372036854775808",
			"int_from_float body.integers.2 Input should be a valid integer, got a number with a fractional part",
			"less_than_equal body.integers.3 Input should be less than or equal to 9223372036854775807",
			"less_than_equal body.integers.4 Input should be less than or equal to 9223372036854775807",
			"greater_than_equal body.integers.5 Input should be greater than or equal to -9223372036854775808",
			"int_from_float body.integers.6 Input should be a valid integer, got a number with a fractional part",
		}},
		"null where none can be": {&testv1.Lists{}, `{"texts":[null],"messages":[null],"lists":[null],"unions":[null],"tuples":[null]}`, []string{
			"string_type body.texts.0 Input should be a valid string",
			"model_attributes_type body.messages.0 Input should be a valid dictionary or object to extract fields from",
			"list_type body.lists.0 Input should be a valid list",
			"bool_type body.unions.0 Input should be a valid boolean",
			"int_type body.unions.0 Input should be a valid integer",
			"float_type body.unions.0 Input should be a valid number",
			"string_type body.unions.0 Input should be a valid string",
			"tuple_type body.tuples.0 Input should be a valid tuple",
		}},
		"required":                     {&testv1.Resource{}, `{"name":null}`, []string{"string_type body.name Input should be a valid string", "missing body.description Field required"}},
		"unknown key of a strict one":  {&testv1.Filter{}, `{"name":{"any":[]},"Operator":"RED","operator":"x"}`, []string{"extra_forbidden body.name.any Extra inputs are not permitted", "extra_forbidden body.Operator Extra inputs are not permitted", "enum body.operator Input should be 'RED', 'light-blue' or 'GREEN'"}},
		"internal key of a strict one": {&testv1.ResourceUpdate{}, `{"name":"n","secret":"x"}`, []string{"extra_forbidden body.secret Extra inputs are not permitted"}},
		"duplicate keys":               {&testv1.Resource{}, `{"name":"a","description":"","name":"b","zzz":1,"zzz":2}`, []string{"duplicate_key body.name Duplicate key"}},
		"duplicate keys of a map":      {&testv1.TextMap{}, `{"a":"1","\u0061":"2"}`, []string{"duplicate_key body.a Duplicate key"}},
		"duplicate extra keys":         {&testv1.Extra{}, `{"type":"t","x":1,"x":2}`, []string{"duplicate_key body.x Duplicate key"}},
		"duplicate tag":                {&testv1.Trigger{}, `{"type":"none","type":"none"}`, []string{"duplicate_key body.type Duplicate key"}},
		"bounds":                       {&testv1.Bounds{}, `{"low":-1,"above":0,"high":99.51,"long":"x","pattern":"A","items":[10],"set":["a","b","c"],"wait":1}`, []string{"greater_than_equal body.low Input should be greater than or equal to 0", "greater_than body.above Input should be greater than 0", "less_than_equal body.high Input should be less than or equal to 99.5", "string_too_short body.long String should have at least 2 characters", "string_pattern_mismatch body.pattern String should match pattern '^[a-z]+$'", "less_than_equal body.items.0 Input should be less than or equal to 9", "too_long body.set Set should have at most 2 items after validation, not 3", "greater_than_equal body.wait Input should be greater than or equal to 1 second and 500000 microseconds"}},
		"more bounds":                  {&testv1.Bounds{}, `{"long":"ééééé","items":[],"wait":"PT2S"}`, []string{"string_too_long body.long String should have at most 4 characters", "too_short body.items List should have at least 1 item after validation, not 0"}},
		"too many items":               {&testv1.Bounds{}, `{"items":[1,2,3]}`, []string{"too_long body.items List should have at most 2 items after validation, not 3"}},
		"tag unknown":                  {&testv1.Trigger{}, `{"type":"x"}`, []string{"union_tag_invalid body Input tag 'x' found using 'type' does not match any of the expected tags: 'event', 'compound', 'none'"}},
		"tag of another type":          {&testv1.Trigger{}, `{"type":3}`, []string{"union_tag_invalid body Input tag '3' found using 'type' does not match any of the expected tags: 'event', 'compound', 'none'"}},
		"the variant's own errors":     {&testv1.Trigger{}, `{"type":"none","x":1}`, []string{"extra_forbidden body.x Extra inputs are not permitted"}},
		"not an object":                {&testv1.Trigger{}, `[]`, []string{"model_attributes_type body Input should be a valid dictionary or object to extract fields from"}},
		"a variant with another tag":   {&testv1.NoTrigger{}, `{"type":"event"}`, []string{"literal_error body.type Input should be 'none'"}},
		"no key of a union":            {&testv1.Schedule{}, `{"rrule":""}`, []string{"missing body.interval Field required", "missing body.cron Field required", "string_type body Input should be a valid string"}},
		"the chosen variant's errors":  {&testv1.Schedule{}, `{"interval":0,"cron":"x"}`, []string{"greater_than body.interval Input should be greater than 0 seconds", "extra_forbidden body.cron Extra inputs are not permitted"}},
		"tuple too short":              {&testv1.Pair{}, `["` + someID + `"]`, []string{"missing body.1 Field required"}},
		"tuple too long":               {&testv1.Pair{}, `["` + someID + `",[],1]`, []string{"too_long body Tuple should have at most 2 items after validation, not 3"}},
		"places":                       {&testv1.Everything{}, `{"next":{"lists":{"tuples":[["` + someID + `",["a",1]]]},"maps":{"unions":{"k.1":[]}}}}`, []string{"string_type body.next.lists.tuples.0.1.1 Input should be a valid string", "bool_type body.next.maps.unions.k.1 Input should be a valid boolean", "int_type body.next.maps.unions.k.1 Input should be a valid integer", "float_type body.next.maps.unions.k.1 Input should be a valid number", "string_type body.next.maps.unions.k.1 Input should be a valid string"}},
		"lone surrogates":              {&testv1.Inlines{}, `{"list":["\ud800","\udc00\ud800"],"json":{"a":"\udfff"},"map":{"\ud800":"x"},"zzz":"\ud800","\ud800":1}`, []string{"string_unicode body.list.0 Input should be a valid string, unable to parse raw data as a unicode string", "string_unicode body.list.1 Input should be a valid string, unable to parse raw data as a unicode string", "string_unicode body.json Input should be a valid string, unable to parse raw data as a unicode string", "string_unicode body.map.\uFFFD Input should be a valid string, unable to parse raw data as a unicode string", "string_unicode body.zzz Input should be a valid string, unable to parse raw data as a unicode string", "string_unicode body.\uFFFD Input should be a valid string, unable to parse raw data as a unicode string"}},
		"a syntax error ends":          {&testv1.Scalars{}, `{"boolean":1,"text":x,"small":"y"}`, []string{"bool_type body.boolean Input should be a valid boolean", "json_invalid body.20 JSON decode error: a value is expected"}},
		"bad UTF-8":                    {&testv1.TextList{}, "[\"\xff\"]", []string{"json_invalid body.1 JSON decode error: a string is not valid UTF-8"}},
		"bad UTF-8 behind an escape":   {&testv1.TextList{}, "[\"\\n\xff\"]", []string{"json_invalid body.1 JSON decode error: a string is not valid UTF-8"}},
		"bad UTF-8 in what is skipped": {&testv1.Scalars{}, "{\"z\":\"\xc0\x80\"}", []string{"json_invalid body.5 JSON decode error: a string is not valid UTF-8"}},
		"trailing bytes":               {&testv1.TextList{}, `[] x`, []string{"json_invalid body.3 JSON decode error: unexpected text after the value"}},
		"trailing zero byte":           {&testv1.TextList{}, "[]\x00", []string{"json_invalid body.2 JSON decode error: unexpected text after the value"}},
		"too deep":                     {&testv1.AnyJson{}, "[[" + deep + "]]", []string{"json_invalid body.128 JSON decode error: nested more than 128 levels deep"}},
		"malformed numbers":            {&testv1.AnyJson{}, `01`, []string{"json_invalid body.1 JSON decode error: unexpected text after the value"}},
		"a control character":          {&testv1.AnyJson{}, "\"a\nb\"", []string{"json_invalid body.2 JSON decode error: a control character stands in a string"}},
		"an escape that is none":       {&testv1.AnyJson{}, `"\x"`, []string{"json_invalid body.1 JSON decode error: a backslash is not followed by an escape"}},
		"an unfinished escape":         {&testv1.AnyJson{}, `"\`, []string{"json_invalid body.0 JSON decode error: a string does not end"}},
		"empty":                        {&testv1.AnyJson{}, " \n", []string{"missing body Field required"}},
		"not the word":                 {&testv1.Nullables{}, `{"boolean":nul}`, []string{"json_invalid body.11 JSON decode error: a value is expected"}},
		"a comma too many":             {&testv1.TextList{}, `["a",]`, []string{"json_invalid body.5 JSON decode error: a value is expected"}},
		"a bad time":                   {&testv1.Lists{}, `{"times":["2026-13-01T00:00:00Z","2026-02-29","2026-01-01T24:00Z","2026-01-01T00:60Z","2026-01-01T00:00:60Z","2026-01-01X00:00","2026-01-01T00:00:00 Z","2026-01-01T00:00:00+24:00","2026-01-01T00:00:00.Z","0001-01-01T00:00:00+00:01","1e3","12345678901"]}`, []string{"datetime_parsing body.times.0 Input should be a valid datetime, month value is outside expected range of 1-12", "datetime_parsing body.times.1 Input should be a valid datetime, day value is outside expected range", "datetime_parsing body.times.2 Input should be a valid datetime, hour value is outside expected range of 0-23", "datetime_parsing body.times.3 Input should be a valid datetime, minute value is outside expected range of 0-59", "datetime_parsing body.times.4 Input should be a valid datetime, second value is outside expected range of 0-59", "datetime_parsing body.times.5 Input should be a valid datetime, invalid datetime separator, expected `T` or space", "datetime_parsing body.times.6 Input should be a valid datetime, invalid timezone sign", "datetime_parsing body.times.7 Input should be a valid datetime, timezone offset must be less than 24 hours", "datetime_parsing body.times.8 Input should be a valid datetime, second fraction is missing", "datetime_parsing body.times.9 Input should be a valid datetime, year is outside expected range of 1-9999", "datetime_parsing body.times.10 Input should be a valid datetime, input is too short", "datetime_parsing body.times.11 Input should be a valid datetime, expected `-`"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, fieldErrorsOf(t, restjson.Unmarshal([]byte(c.in), c.m)))
		})
	}
	require.NoError(t, restjson.Unmarshal([]byte("["+deep+"]"), &testv1.AnyJson{}), "as deep as may be")
}

func TestErrorsAreBounded(t *testing.T) {
	t.Parallel()
	err := restjson.Unmarshal([]byte("["+strings.Repeat("1,", 10_000)+"1]"), &testv1.TextList{})
	require.Len(t, restjson.AsErrors(err).List, restjson.MaxErrors)
	require.Less(t, len(err.Error()), 1000)
}

// TestLocationsAreBounded proves that long keys are not repeated whole by every field error below them.
func TestLocationsAreBounded(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("é", 100_000)
	err := restjson.Unmarshal([]byte(`{"lists":{"`+key+`":[`+strings.Repeat("1,", 200)+`1]},"unions":{"`+key+`":[]}}`), &testv1.Maps{})
	require.Less(t, len(restjson.AppendErrors(nil, restjson.AsErrors(err).List)), 100_000)
	err = restjson.Unmarshal([]byte(`{"type":"`+key+`"}`), &testv1.Trigger{})
	require.Less(t, len(err.Error()), 1000)
}

func TestEchoIsBounded(t *testing.T) {
	t.Parallel()
	e := restjson.AsErrors(restjson.Unmarshal([]byte(`{"text": { "a" : 1 } ,"integer":"`+strings.Repeat("x", 2000)+`"}`), &testv1.Scalars{}))
	require.Len(t, e.List, 2)
	require.Equal(t, `{"a":1}`, string(e.List[0].GetInput()))
	require.Empty(t, e.List[1].GetInput())
	require.Equal(t, `[{"type":"string_type","loc":["body","text"],"msg":"Input should be a valid string","input":{"a":1}},`+
		`{"type":"int_type","loc":["body","integer"],"msg":"Input should be a valid integer"}]`, string(restjson.AppendErrors(nil, e.List)))

	require.Equal(t, `{"exception_message":"Invalid request received.","exception_detail":[],"request_body":{"a":[1]}}`,
		string((&restjson.Errors{}).AppendBody(nil, []byte(` { "a" : [ 1 ] }`))))
	require.Contains(t, string(e.AppendBody(nil, []byte("{\xff"))), `"request_body":"{`+"\uFFFD"+`"}`)
	require.Contains(t, string(e.AppendBody(nil, nil)), `"request_body":null}`)
	require.Contains(t, string(e.AppendBody(nil, []byte(strings.Repeat(" ", 1<<20)))), `"request_body":null}`)
}
