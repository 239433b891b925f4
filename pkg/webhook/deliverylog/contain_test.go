package deliverylog_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestContaining(t *testing.T) {
	t.Parallel()
	d := &orchv1.WebhookDelivery{
		Id: "01010101-0101-4101-8101-010101010101", Method: "POST", Path: "/Push", Query: "ref=Main", RawBody: []byte("caf\xe9 Noir"),
		Headers:       map[string]string{"content-type": "text/plain; charset=latin-1", "x-github-event": "Push"},
		RemoteAddress: proto.String("192.0.2.7"), Error: proto.String("name is Missing"), Rendered: proto.String(`{"event": "Half"}`),
		Event: proto.String("repo.Pushed"), EventIds: []string{"02020202-0202-4202-8202-020202020202"}, Reason: proto.String(deliverylog.ReasonEvent),
		Response: &orchv1.WebhookRenderedResponse{Body: "Thanks", Headers: map[string]string{"X-Answer": "Yes"}},
	}
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"method and path":              {"post /push", true},
		"query":                        {"ref=main", true},
		"header by name and value":     {"X-GitHub-Event: push", true},
		"value of another header":      {"x-github-event: text", false},
		"body by its charset":          {"CAFÉ noir", true},
		"sender":                       {"192.0.2.7", true},
		"error":                        {"name is missing", true},
		"rendered output":              {`"event": "half"`, true},
		"event":                        {"repo.pushed", true},
		"id":                           {"01010101-0101-4101", true},
		"further event of the request": {"02020202-0202", true},
		"reason":                       {"EVENT", true},
		"body of the response":         {"thanks", true},
		"header of the response":       {"x-answer: yes", true},
		"text across two fields":       {"mainPOST", false},
		"pattern":                      {"caf.", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, deliverylog.Containing(c.text)(d))
		})
	}
}
