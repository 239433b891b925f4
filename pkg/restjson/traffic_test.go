package restjson_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// frame is one recorded request with its answer, or one websocket frame.
type frame struct {
	Kind   string          `json:"kind"`
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Status int             `json:"status"`
	Req    json.RawMessage `json:"req"`
	Resp   json.RawMessage `json:"resp"`
	Dir    string          `json:"dir"`
	Data   json.RawMessage `json:"data"`
}

// route is one rpc as google.api.http puts it on a path.
type route struct {
	rpc            protoreflect.MethodDescriptor
	method         string
	template       string
	path           *regexp.Regexp
	body, response protoreflect.FieldDescriptor
	optionalBody   bool
}

var parameter = regexp.MustCompile(`\\\{[a-z_]+\\\}`)

// routes returns every annotated rpc of the API, those with literal segments first.
func routes(t *testing.T) (all []*route) {
	t.Helper()
	protoregistry.GlobalFiles.RangeFilesByPackage("orch.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			methods := file.Services().Get(i).Methods()
			for j := range methods.Len() {
				if r := newRoute(methods.Get(j)); r != nil {
					all = append(all, r)
				}
			}
		}
		return true
	})
	slices.SortFunc(all, func(a, b *route) int {
		// '~' sorts after every literal.
		return strings.Compare(strings.ReplaceAll(a.template, "{", "~"), strings.ReplaceAll(b.template, "{", "~"))
	})
	require.NotEmpty(t, all)
	return all
}

func newRoute(md protoreflect.MethodDescriptor) *route {
	rule, _ := proto.GetExtension(md.Options(), annotations.E_Http).(*annotations.HttpRule)
	r := &route{rpc: md}
	switch p := rule.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		r.method, r.template = "GET", p.Get
	case *annotations.HttpRule_Post:
		r.method, r.template = "POST", p.Post
	case *annotations.HttpRule_Put:
		r.method, r.template = "PUT", p.Put
	case *annotations.HttpRule_Patch:
		r.method, r.template = "PATCH", p.Patch
	case *annotations.HttpRule_Delete:
		r.method, r.template = "DELETE", p.Delete
	default:
		return nil
	}
	expr := parameter.ReplaceAllString(regexp.QuoteMeta(strings.TrimSuffix(r.template, "/")), "[^/]+")
	r.path = regexp.MustCompile("^" + expr + "$")
	r.body = md.Input().Fields().ByName(protoreflect.Name(rule.GetBody()))
	r.response = md.Output().Fields().ByName(protoreflect.Name(rule.GetResponseBody()))
	if api, _ := proto.GetExtension(md.Options(), orchv1.E_Api).(*orchv1.RestMethod); api != nil {
		r.optionalBody = api.GetOptionalBody()
	}
	return r
}

func find(all []*route, method, path string) *route {
	path = strings.TrimSuffix(strings.TrimPrefix(path, "/api"), "/")
	for _, r := range all {
		if r.method == method && r.path.MatchString(path) {
			return r
		}
	}
	return nil
}

// recorded calls each for every recorded frame.
func recorded(t *testing.T, each func(frame)) {
	t.Helper()
	files, err := filepath.Glob("testdata/traffic/*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		f, err := os.Open(name)
		require.NoError(t, err)
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			var fr frame
			require.NoError(t, json.Unmarshal(lines.Bytes(), &fr))
			each(fr)
		}
		require.NoError(t, lines.Err())
		require.NoError(t, f.Close())
	}
}

// TestRecordedTraffic replays the recorded traffic of an unmodified client and the reference server: the decoder accepts every
// request, and the encoder reproduces every response.
func TestRecordedTraffic(t *testing.T) {
	t.Parallel()
	all := routes(t)
	var requests, answers int
	without := 0
	recorded(t, func(fr frame) {
		if fr.Kind != "http" {
			return
		}
		r := find(all, fr.Method, fr.Path)
		if r == nil {
			without++
			return
		}
		what := fmt.Sprintf("%s %s (%s)", fr.Method, fr.Path, r.rpc.Name())
		if r.body != nil && len(fr.Req) > 0 && fr.Status != 422 && (string(fr.Req) != "null" || r.optionalBody) {
			requests++
			var opts []restjson.DecodeOption
			if r.optionalBody {
				opts = append(opts, restjson.WithOptionalBody())
			}
			m := newMessage(t, r.rpc.Input())
			require.NoError(t, restjson.UnmarshalField(fr.Req, m, r.body, opts...), "%s: %s", what, fr.Req)
		}
		if r.rpc.Output().FullName() == "google.api.HttpBody" {
			return // the response is returned as it is
		}
		if fr.Status >= 300 || bytes.Contains(fr.Resp, []byte(`"__truncated__"`)) {
			return
		}
		answers++
		if r.rpc.Output().FullName() == "google.protobuf.Empty" {
			require.Equal(t, "null", string(fr.Resp), what)
			return
		}
		m := newMessage(t, r.rpc.Output())
		var back []byte
		var err error
		if r.response != nil {
			require.NoError(t, restjson.UnmarshalField(fr.Resp, m, r.response), "%s: %s", what, fr.Resp)
			back, err = restjson.AppendField(nil, overWire(t, m), r.response)
		} else {
			require.NoError(t, restjson.Unmarshal(fr.Resp, m.Interface()), "%s: %s", what, fr.Resp)
			back, err = restjson.Marshal(overWire(t, m).Interface())
		}
		require.NoError(t, err, what)
		requireSameJSON(t, fr.Resp, back, what)
	})
	t.Logf("%d request bodies accepted, %d answers reproduced; %d requests have no rpc", requests, answers, without)
	require.Positive(t, requests)
	require.Positive(t, answers)
}

// TestRecordedEvents replays the events of the recorded websockets.
func TestRecordedEvents(t *testing.T) {
	t.Parallel()
	n := 0
	recorded(t, func(fr frame) {
		if fr.Kind != "ws_frame" {
			return
		}
		var message struct {
			Type  string          `json:"type"`
			Event json.RawMessage `json:"event"`
		}
		if json.Unmarshal(fr.Data, &message) != nil || message.Event == nil {
			return
		}
		var m proto.Message = &orchv1.ReceivedEvent{}
		text := message.Event
		if fr.Dir == "c>s" {
			m, text = &orchv1.Event{}, fr.Data
		}
		n++
		require.NoError(t, restjson.Unmarshal(text, m), "%s", text)
		back, err := restjson.Marshal(overWire(t, m.ProtoReflect()).Interface())
		require.NoError(t, err)
		requireSameJSON(t, text, back, "event")
	})
	t.Logf("%d events", n)
	require.Positive(t, n)
}

func newMessage(t *testing.T, md protoreflect.MessageDescriptor) protoreflect.Message {
	t.Helper()
	mt, err := protoregistry.GlobalTypes.FindMessageByName(md.FullName())
	require.NoError(t, err)
	return mt.New()
}

// overWire returns a message after marshalling it between services.
func overWire(t *testing.T, m protoreflect.Message) protoreflect.Message {
	t.Helper()
	wire, err := proto.Marshal(m.Interface())
	require.NoError(t, err)
	out := m.New()
	require.NoError(t, proto.Unmarshal(wire, out.Interface()))
	return out
}

// requireSameJSON compares values with the literals of numbers, but without the order of keys.
func requireSameJSON(t *testing.T, want, got []byte, what string) {
	t.Helper()
	parse := func(text []byte) any {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		var v any
		require.NoError(t, d.Decode(&v), "%s: %s", what, text)
		return spell(v)
	}
	require.Equal(t, parse(want), parse(got), what)
}

// spell normalises the exponents of the recording, which went through Python. Integers and numbers with a fraction stay
// different.
func spell(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = spell(v[k])
		}
	case []any:
		for i := range v {
			v[i] = spell(v[i])
		}
	case json.Number:
		if strings.ContainsAny(v.String(), "eE") {
			x, err := strconv.ParseFloat(v.String(), 64)
			if err == nil {
				return json.Number(restjson.AppendFloat(nil, x))
			}
		}
	}
	return v
}
