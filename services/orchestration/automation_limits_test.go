package orchestration_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration"
)

// limitsReached are the limits that the events of automations name.
func (d *domain) limitsReached(n int) []string {
	d.t.Helper()
	var limits []string
	for _, e := range d.eventually("orch.automation.limit-reached", n) {
		limits = append(limits, string(e.GetPayload()))
	}
	return limits
}

// Firings beyond a limit cause nothing, and an event says so once.
func TestFiringsBeyondALimitCauseNothing(t *testing.T) {
	for name, edit := range map[string]option{
		`{"limit":"firings_per_minute","value":3}`:         func(c *orchestration.Config) { c.Automations.FiringsPerMinute = 3 },
		`{"limit":"account_firings_per_minute","value":3}`: func(c *orchestration.Config) { c.Automations.AccountFiringsPerMinute = 3 },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDomain(t, edit)
			d.automation(`{"name":"a","trigger":{"type":"event","posture":"Reactive","expect":["go"]},"actions":[{"type":"do-nothing"}]}`)
			for i := range 12 {
				d.emit("go", fmt.Sprint(i))
			}
			limits := d.limitsReached(1)
			require.JSONEq(t, name, limits[0])
			// The minute may have changed meanwhile: then there are as many firings once more.
			d.emit("end", "end")
			d.eventually("end", 1)
			require.LessOrEqual(t, len(d.eventually("orch.automation.triggered", 3)), 6)
		})
	}
}

// An automation counts as many keys as the limit allows. Events of others are not counted, and an event says so.
func TestKeysBeyondTheLimitAreNotCounted(t *testing.T) {
	d := newDomain(t, func(c *orchestration.Config) { c.Automations.KeysPerAutomation = 5 })
	d.automation(`{"name":"a","trigger":{"type":"event","posture":"Reactive","expect":["go"],"for_each":["orch.resource.id"],"threshold":2,"within":3600},
		"actions":[{"type":"do-nothing"}]}`)
	for range 2 {
		for i := range 10 {
			d.emit("go", fmt.Sprint(i))
		}
	}
	require.JSONEq(t, `{"limit":"for_each_keys","value":5}`, d.limitsReached(1)[0])
	fired := d.eventually("orch.automation.triggered", 5)
	require.Len(t, fired, 5)
	for _, e := range fired {
		require.NotContains(t, string(e.GetPayload()), `"orch.resource.id":"9"`)
	}
}

// Automations that fire because of each other end after a number of firings, long before the limit of a minute.
func TestChainsOfAutomationsEnd(t *testing.T) {
	d := newDomain(t)
	for _, name := range []string{"ping", "pong"} {
		d.automation(fmt.Sprintf(`{"name":%q,"trigger":{"type":"event","posture":"Reactive","expect":["go","orch.automation.triggered"]},
			"actions":[{"type":"do-nothing"}]}`, name))
	}
	d.emit("go", "all")
	require.JSONEq(t, `{"limit":"chain","value":10}`, d.limitsReached(1)[0])
	fired := d.eventually("orch.automation.triggered", 20)
	require.Len(t, fired, 20, "each of both begins a chain of ten")
}

// A triggering event whose payload would make the event of the firing too large does not stop the evaluation.
func TestALargeEventFires(t *testing.T) {
	d := newDomain(t)
	d.automation(`{"name":"a","trigger":{"type":"event","posture":"Reactive","expect":["go"]},"actions":[{"type":"do-nothing"}]}`)
	d.emit("go", "large", func(e *orchv1.Event) { e.Payload = []byte(`{"text":"` + strings.Repeat("x", 1_400_000) + `"}`) })
	d.emit("go", "small")
	require.Len(t, d.eventually("orch.automation.triggered", 2), 2)
}

// The buckets of a replaced or deleted automation are removed, so that they do not count for long.
func TestBucketsGoWithTheirAutomation(t *testing.T) {
	d := newDomain(t, func(c *orchestration.Config) { c.Automations.KeysPerAutomation = 1 })
	const text = `{"name":"a","trigger":{"type":"event","posture":"Reactive","expect":["go"],"for_each":["orch.resource.id"]},"actions":[]}`
	a := d.automation(text)
	d.emit("go", "1")
	d.eventually("orch.automation.triggered", 1)
	update, mask := &orchv1.AutomationUpdate{}, &fieldmaskpb.FieldMask{Paths: []string{"name", "trigger", "actions"}}
	require.NoError(t, restjson.Unmarshal([]byte(text), update))
	call[*emptypb.Empty](d, orchv1.AutomationService_UpdateAutomation_FullMethodName,
		&orchv1.UpdateAutomationRequest{Id: a.GetId(), Automation: update, UpdateMask: mask})
	d.emit("go", "2")
	d.eventually("orch.automation.triggered", 2)
	call[*emptypb.Empty](d, orchv1.AutomationService_DeleteAutomation_FullMethodName, &orchv1.DeleteAutomationRequest{Id: a.GetId()})
	buckets := d.store.Connect().Collection("automation_bucket")
	eventually(t, func() bool {
		n, err := buckets.CountDocuments(t.Context(), bson.D{})
		require.NoError(t, err)
		return n == 0
	}, "buckets")
}

// Changes that come together are read once: else ten thousand new automations would be read ten thousand times.
func TestManyChangesOfAutomationsAreReadOnce(t *testing.T) {
	d := newIdleDomain(t, slog.DiscardHandler)
	d.automation(`{"name":"a","trigger":{"type":"event","posture":"Reactive","expect":["go"]},"actions":[{"type":"do-nothing"}]}`)
	const changes = 200
	events := make([]*orchv1.Event, changes)
	for i := range events {
		events[i] = &orchv1.Event{
			Id: uuid.NewString(), Event: "orch.automation.updated", Occurred: timestamppb.Now(),
			Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": "orch.automation." + uuid.NewString()}},
		}
	}
	_, _, err := try[proto.Message](d, orchv1.EventService_CreateEvents_FullMethodName, &orchv1.CreateEventsRequest{Events: events})
	require.NoError(t, err)
	d.emit("go", "go")
	d.monitor.commands()
	d.start()
	d.eventually("orch.automation.triggered", 1)
	require.Less(t, d.monitor.commands()["find automation"], changes/4)
}
