package transcode

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/openapi"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// fixed answers every call with one message.
type fixed struct{ message proto.Message }

func (f fixed) Call(context.Context, string, proto.Message) (proto.Message, rpc.Reply, error) {
	return f.message, rpc.Reply{}, nil
}

// sink is a ResponseWriter that costs nothing.
type sink struct{ header http.Header }

func (s sink) Header() http.Header         { return s.header }
func (s sink) Write(p []byte) (int, error) { return len(p), nil }
func (s sink) WriteHeader(int)             {}

func BenchmarkServe(b *testing.B) {
	at := timestamppb.Now()
	flow := &orchv1.Flow{Id: "01890000-0000-7000-8000-000000000001", Name: "a", Created: at, Updated: at}
	many := &orchv1.FlowList{}
	for range 200 {
		many.Flows = append(many.Flows, flow)
	}
	for name, test := range map[string]struct {
		method, path, body string
		answer             proto.Message
	}{
		"read":   {"GET", "/flows/" + flow.GetId(), "", flow},
		"create": {"POST", "/flows", `{"name":"a","tags":["b","c"]}`, flow},
		"filter": {"POST", "/flows/filter", `{"limit":200,"flows":{"name":{"any_":["a"]}}}`, many},
		"404":    {"GET", "/nowhere", "", flow},
	} {
		b.Run(name, func(b *testing.B) {
			t, err := New(Options{
				Services:   openapi.Services(),
				Caller:     func(string) rpc.Caller { return fixed{test.answer} },
				Authorizer: everybody{},
				Log:        slog.New(slog.DiscardHandler),
			})
			if err != nil {
				b.Fatal(err)
			}
			body := strings.NewReader(test.body)
			r, err := http.NewRequestWithContext(b.Context(), test.method, "http://x"+test.path, body)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				body.Reset(test.body)
				r.Body = io.NopCloser(body)
				t.Serve(sink{http.Header{}}, r, RequestScope{})
			}
		})
	}
}
