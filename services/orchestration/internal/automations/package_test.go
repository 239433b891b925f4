package automations

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestParametersAreLookedThroughForTemplates(t *testing.T) {
	t.Parallel()
	s := NewChecker(vocabulary.Orch)
	for text, want := range map[string]string{
		`{"a":"plain","b":1,"c":null}`:                                 "",
		`{"a":"{{ event.id }}"}`:                                       "",
		`{"a":"{{ flow_run | ui_url }}"}`:                              "",
		`{"a":"{{ flow_run | ui_resource_events_url }}"}`:              "",
		`{"a":"{{ x"}`:                                                 "a",
		`{"a":{"b":"{% if %}"}}`:                                       "a.b",
		`{"a":["{{ x"]}`:                                               "", // A text in a list is no template.
		`{"a":[{"b":"{{ x"}]}`:                                         "a[0].b",
		`{"a":{"__orch_kind":"jinja","template":"{{ x"}}`:              "a",
		`{"a":{"__prefect_kind":"jinja","template":"{{ x"}}`:           "a",
		`{"a":{"__orch_kind":"json","value":"{"}}`:                     "a",
		`{"a":{"__orch_kind":"json","value":"{\"b\":1}"}}`:             "",
		`{"a":{"__orch_kind":"workspace_variable","variable_name":1}}`: "",
	} {
		parameters, err := jsontree.ParseObject([]byte(text))
		require.NoError(t, err)
		var found string
		s.checkParameters(parameters, "", func(where, _ string) { found += where })
		require.Equal(t, want, found, text)
	}
}

// Every action with a source is held to it, also one that the contract gets later.
func TestActionsNameWhatTheySelect(t *testing.T) {
	t.Parallel()
	kinds := (&orchv1.Action{}).ProtoReflect().Descriptor().Oneofs().ByName("kind").Fields()
	checked := 0
	for i := range kinds.Len() {
		kind := kinds.Get(i)
		fields := kind.Message().Fields()
		if fields.ByName("source") == nil {
			continue
		}
		checked++
		for name, test := range map[string]struct {
			source      orchv1.ActionSource
			id          string
			fieldErrors int
		}{
			"selected":          {orchv1.ActionSource_ACTION_SOURCE_SELECTED, "01890000-0000-7000-8000-000000000001", 0},
			"selected, no id":   {orchv1.ActionSource_ACTION_SOURCE_SELECTED, "", 1},
			"inferred":          {orchv1.ActionSource_ACTION_SOURCE_INFERRED, "", 0},
			"inferred, with id": {orchv1.ActionSource_ACTION_SOURCE_INFERRED, "01890000-0000-7000-8000-000000000001", 1},
		} {
			t.Run(name, func(t *testing.T) {
				action := (&orchv1.Action{}).ProtoReflect()
				message := action.Mutable(kind).Message()
				message.Set(fields.ByName("source"), protoreflect.ValueOfEnum(test.source.Number()))
				if test.id != "" {
					message.Set(fields.ByNumber(2), protoreflect.ValueOfString(test.id))
				}
				var found fieldErrors
				checkSelection(action, fieldPath{}, &found)
				require.Len(t, found.list, test.fieldErrors, "%s: %s", kind.Name(), name)
			})
		}
	}
	require.Equal(t, 9, checked)
}

// The bound of an evaluation covers reading the events too.
func TestAnEvaluationEndsInTime(t *testing.T) {
	t.Parallel()
	s := New(storetest.Embedded(t, clock.System{}), vocabulary.Orch, outbox.Flusher{}, nil, nil, nil)
	s.evaluationTime = time.Nanosecond
	local := rpc.NewLocal()
	orchv1.RegisterAutomationServiceServer(local, s)
	query := &orchv1.AutomationEvaluationQuery{}
	require.NoError(t, restjson.Unmarshal(fmt.Appendf(nil, `{"since":%q,"automation":{"name":"a","actions":[],
		"trigger":{"type":"event","posture":"Reactive","expect":["go"]}}}`, time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)), query))
	ctx := request.Outgoing(t.Context(), request.Info{Account: request.DefaultAccount, Workspace: request.DefaultWorkspace})
	response, _, err := local.Call(ctx, orchv1.AutomationService_EvaluateAutomation_FullMethodName, &orchv1.EvaluateAutomationRequest{Query: query})
	require.NoError(t, err)
	require.Equal(t, "time", response.(*orchv1.AutomationEvaluation).GetStoppedBy())
}
