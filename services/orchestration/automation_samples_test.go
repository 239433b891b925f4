package orchestration_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration"
)

// sample is what one event led to in a recorded server.
type sample struct {
	Name       string
	Automation json.RawMessage
	Event      json.RawMessage
	Emitted    []emitted
}

type emitted struct {
	Event    string
	Resource map[string]string
	Related  []map[string]string
	Payload  map[string]any
}

// The objects of the recorded server that samples name.
const (
	recordedDeployment = "050662b8-7a01-456d-a549-0ed096d7c937"
	recordedPool       = "9ce61b2e-6cca-4462-9654-b60083d1addb"
	recordedRun        = "af176217-341b-4345-b55b-b65a4636dbfb"
	recordedHook       = "1e9e2afa-7aae-4585-8543-e8b93a2f735e"
	recordedTea        = "9926fa68-d060-4228-8d5e-7362384ffe8a"
)

// reasonsDiffer are samples whose reasons quote errors of Python or of its rules. Ours have their own words.
var reasonsDiffer = []string{"run-bad-type", "run-bad-list", "run-no-var", "cancel", "hook-render", "hook-range"}

// elsewhere are samples that this test leaves out: "compound" needs the event of another sample, and "hook" loops over a
// resource, which the recorded server renders as one pair.
var elsewhere = []string{"compound", "hook"}

// Actions on a firing come after the others, and infer from the event of the firing.
func TestActionsOnAFiringInferTheAutomation(t *testing.T) {
	d := newDomain(t)
	a := d.automation(`{"name":"a","trigger":{"type":"event","posture":"Reactive","expect":["go"]},"actions":[{"type":"do-nothing"}],
		"actions_on_trigger":[{"type":"pause-automation","source":"inferred"}],"actions_on_resolve":[{"type":"do-nothing"}]}`)
	d.emit("go", "all")
	executed := d.eventually("orch.automation.action.executed", 2)
	require.Contains(t, string(executed[0].GetPayload()), "pause-automation", "the newest is first")
	read, err := d.tryReadAutomation(a.GetId())
	require.NoError(t, err)
	require.False(t, read.GetEnabled())
	fired := d.eventually("orch.automation.triggered", 1)[0].GetId()
	var roles []string
	for _, related := range executed[0].GetRelated() {
		if related.GetLabels()["orch.resource.id"] == "orch.event."+fired {
			roles = append(roles, related.GetLabels()["orch.resource.role"])
		}
	}
	require.Equal(t, []string{"automation-triggered-event", "triggering-event"}, roles)
}

// The events of firings and actions have the names, resources, related resources and payloads that clients know.
func TestSamplesOfActionsAndTheirEvents(t *testing.T) {
	bodies := make(chan string, 20)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Own", "2")
		w.Header().Set("Via", "1.1 hidden")
		w.Header()["Date"] = nil
		if r.URL.Path == "/tea" {
			w.WriteHeader(http.StatusTeapot)
			_, _ = w.Write([]byte("ok"))
		} else {
			_, _ = w.Write([]byte(strings.Repeat("y", 2000)))
		}
		bodies <- string(text)
	}))
	t.Cleanup(receiver.Close)
	d := newDomain(t, func(c *orchestration.Config) {
		c.Vocabulary, c.Automations.AllowedNetworks, c.Automations.UIURL = vocabulary.Prefect, "127.0.0.1", "http://ui.example"
	})
	flow := d.flow("vec")
	deployment := d.deployment(flow, func(c *orchv1.DeploymentCreate) {
		c.ParameterOpenapiSchema = []byte(`{"type":"object","properties":{"x":{"anyOf":[{"type":"integer"},{"type":"null"}]},"y":{}}}`)
		c.EnforceParameterSchema = true
	})
	pool := call[*orchv1.WorkPool](d, orchv1.WorkPoolService_CreateWorkPool_FullMethodName,
		&orchv1.CreateWorkPoolRequest{WorkPool: &orchv1.WorkPoolCreate{Name: "vec-pool2", Type: "process"}})
	call[*orchv1.Variable](d, orchv1.VariableService_CreateVariable_FullMethodName,
		&orchv1.CreateVariableRequest{Variable: &orchv1.VariableCreate{Name: "vecvar", Value: []byte(`"v"`)}})
	names := map[string]string{
		recordedDeployment: deployment.GetId(), recordedPool: pool.GetId(), recordedRun: d.run(flow).GetId(),
		recordedHook: d.blockDocument("webhook", "vec-hook-b", fmt.Sprintf(`{"method":"POST","url":%q}`, receiver.URL+"/hook")),
		recordedTea:  d.blockDocument("webhook", "vec-tea-b", fmt.Sprintf(`{"method":"POST","url":%q}`, receiver.URL+"/tea")),
	}
	file, err := os.Open("testdata/automation_samples.jsonl")
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		text := lines.Text()
		for recorded, ours := range names {
			text = strings.ReplaceAll(text, recorded, ours)
		}
		var s sample
		require.NoError(t, json.Unmarshal([]byte(text), &s))
		if slices.Contains(elsewhere, s.Name) {
			continue
		}
		got, want := d.replay(s), s.Emitted
		differs := slices.Contains(reasonsDiffer, s.Name)
		missing, extra := subtract(shapes(t, want, differs), shapes(t, got, differs))
		require.Equal(t, 0, len(missing)+len(extra), "%s\nwithout %s\nand with %s", s.Name, strings.Join(missing, "\n"), strings.Join(extra, "\n"))
		if s.Name == "tea" {
			require.Contains(t, <-bodies, `"message": "`)
		}
	}
	require.NoError(t, lines.Err())
}

// replay creates the automation of a sample, sends its event, and returns what followed.
func (d *domain) replay(s sample) []emitted {
	d.t.Helper()
	var stored map[string]any
	require.NoError(d.t, json.Unmarshal(s.Automation, &stored))
	delete(stored, "id")
	stored["enabled"] = true // "three-lists" was recorded after it had paused itself.
	text, err := json.Marshal(stored)
	require.NoError(d.t, err)
	automation := d.automation(string(text))
	e := &orchv1.Event{}
	require.NoError(d.t, restjson.Unmarshal(s.Event, e))
	e.Id, e.Occurred = uuid.NewString(), timestamppb.Now()
	call[*emptypb.Empty](d, orchv1.EventService_CreateEvents_FullMethodName, &orchv1.CreateEventsRequest{Events: []*orchv1.Event{e}})
	var found []emitted
	eventually(d.t, func() bool {
		page := call[*orchv1.EventPage](d, orchv1.EventService_ReadEvents_FullMethodName, &orchv1.ReadEventsRequest{Query: &orchv1.EventQuery{
			Filter: &orchv1.EventFilter{
				Occurred: &orchv1.EventOccurredFilter{Until: timestamppb.New(time.Now().Add(time.Minute))}, Id: &orchv1.EventIdFilter{},
				Event:    &orchv1.EventNameFilter{Prefix: &orchv1.StringList{Values: []string{"prefect.automation.triggered", "prefect.automation.action."}}},
				Resource: &orchv1.EventResourceFilter{Id: &orchv1.StringList{Values: []string{"prefect.automation." + automation.GetId()}}},
			},
			Limit: 200,
		}})
		found = nil
		for _, one := range page.GetEvents() {
			event := emitted{Event: one.GetEvent(), Resource: one.GetResource().GetLabels()}
			for _, related := range one.GetRelated() {
				event.Related = append(event.Related, related.GetLabels())
			}
			require.NoError(d.t, json.Unmarshal(one.GetPayload(), &event.Payload))
			found = append(found, event)
		}
		return len(found) >= len(s.Emitted)
	}, s.Name)
	return found
}

var recordedID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// shapes are events as texts without ids, times and generated names, in order.
func shapes(t *testing.T, events []emitted, withoutReason bool) []string {
	t.Helper()
	texts := make([]string, 0, len(events))
	for _, e := range events {
		delete(e.Payload, "triggering_event")
		if withoutReason {
			for _, key := range []string{"reason", "validation_error", "template_error"} {
				delete(e.Payload, key)
			}
		}
		delete(e.Payload, "response_headers")
		for _, related := range e.Related {
			if related["prefect.resource.role"] == "flow-run" {
				delete(related, "prefect.resource.name")
			}
		}
		text, err := json.Marshal(e)
		require.NoError(t, err)
		texts = append(texts, recordedID.ReplaceAllString(string(text), "ID"))
	}
	slices.Sort(texts)
	return texts
}

// subtract returns what each of two lists has and the other has not.
func subtract(a, b []string) (onlyA, onlyB []string) {
	without := func(list, other []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(text string) bool { return slices.Contains(other, text) })
	}
	return without(a, b), without(b, a)
}
