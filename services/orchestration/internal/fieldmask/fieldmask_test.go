package fieldmask_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/fieldmask"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestApply(t *testing.T) {
	t.Parallel()
	stored := func() *orchv1.Deployment {
		return &orchv1.Deployment{
			Name: "nightly", Version: proto.String("1"), Description: proto.String("what it does"), Paused: true, EnforceParameterSchema: true,
			Parameters: []byte(`{"a":1}`), ParameterOpenapiSchema: []byte(`{"type":"object"}`), Tags: []string{"old"},
			ConcurrencyOptions: &orchv1.ConcurrencyOptions{},
		}
	}
	for name, c := range map[string]struct {
		update *orchv1.DeploymentUpdate
		mask   []string
		except []protoreflect.Name
		want   func(*orchv1.Deployment)
		rest   []string
	}{
		"what the mask does not name stays": {
			update: &orchv1.DeploymentUpdate{Version: proto.String("2"), Paused: false},
			want:   func(*orchv1.Deployment) {},
		},
		"a value": {
			update: &orchv1.DeploymentUpdate{Version: proto.String("2"), EnforceParameterSchema: proto.Bool(false)},
			mask:   []string{"version", "enforce_parameter_schema"},
			want:   func(d *orchv1.Deployment) { d.Version, d.EnforceParameterSchema = proto.String("2"), false },
		},
		"an empty text is a value": {
			update: &orchv1.DeploymentUpdate{Description: proto.String("")},
			mask:   []string{"description"},
			want:   func(d *orchv1.Deployment) { d.Description = proto.String("") },
		},
		"the zero of a field that is never null": {
			update: &orchv1.DeploymentUpdate{Paused: false},
			mask:   []string{"paused"},
			want:   func(d *orchv1.Deployment) { d.Paused = false },
		},
		"a list is replaced": {
			update: &orchv1.DeploymentUpdate{Tags: []string{"new", "newer"}},
			mask:   []string{"tags"},
			want:   func(d *orchv1.Deployment) { d.Tags = []string{"new", "newer"} },
		},
		"an empty list empties": {
			update: &orchv1.DeploymentUpdate{},
			mask:   []string{"tags"},
			want:   func(d *orchv1.Deployment) { d.Tags = nil },
		},
		"null clears what may be absent": {
			update: &orchv1.DeploymentUpdate{},
			mask:   []string{"version", "description", "parameter_openapi_schema", "concurrency_options"},
			want: func(d *orchv1.Deployment) {
				d.Version, d.Description, d.ParameterOpenapiSchema, d.ConcurrencyOptions = nil, nil, nil, nil
			},
		},
		"null empties free JSON that is never absent": {
			update: &orchv1.DeploymentUpdate{},
			mask:   []string{"parameters"},
			want:   func(d *orchv1.Deployment) { d.Parameters = nil },
		},
		"null leaves what always has a value": {
			update: &orchv1.DeploymentUpdate{},
			mask:   []string{"enforce_parameter_schema"},
			want:   func(*orchv1.Deployment) {},
		},
		"what the caller keeps for itself": {
			update: &orchv1.DeploymentUpdate{Version: proto.String("2"), Path: proto.String("p")},
			mask:   []string{"version", "path"},
			except: []protoreflect.Name{"version"},
			want:   func(d *orchv1.Deployment) { d.Path = proto.String("p") },
			rest:   []string{"version"},
		},
		"what has another type, is computed or is not there": {
			update: &orchv1.DeploymentUpdate{Schedules: []*orchv1.DeploymentScheduleUpdate{{}}, ConcurrencyLimit: proto.Int64(3)},
			mask:   []string{"schedules", "concurrency_limit", "global_concurrency_limit_id"},
			want:   func(*orchv1.Deployment) {},
			rest:   []string{"schedules", "concurrency_limit", "global_concurrency_limit_id"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, want := stored(), stored()
			c.want(want)
			rest := fieldmask.Apply(got, c.update, c.mask, c.except...)
			require.True(t, proto.Equal(want, got), "%v is not %v", got, want)
			require.Equal(t, c.rest, rest)
		})
	}
}

// A zero that was sent is a value for an optional field.
func TestZeroIsSentToWhatMayBeAbsent(t *testing.T) {
	t.Parallel()
	update := &orchv1.WorkspaceUpdate{Name: proto.String("old")}
	require.Empty(t, fieldmask.Apply(update, &orchv1.Workspace{}, []string{"name"}))
	require.NotNil(t, update.Name)
	require.Empty(t, update.GetName())
}

// A new field of an update appears in this table only if code applies it; every other field is applied by name.
func TestFieldsWithRulesOfTheirOwn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		resource, update proto.Message
		rest             []string
	}{
		{&orchv1.Account{}, &orchv1.AccountUpdate{}, nil},
		{&orchv1.AccountSettings{}, &orchv1.AccountSettingsUpdate{}, nil},
		{&orchv1.Artifact{}, &orchv1.ArtifactUpdate{}, nil},
		{&orchv1.BlockType{}, &orchv1.BlockTypeUpdate{}, nil},
		{
			&orchv1.Deployment{}, &orchv1.DeploymentUpdate{},
			[]string{"schedules", "concurrency_limit", "global_concurrency_limit_id", "version_info"},
		},
		{
			&orchv1.Deployment{}, &orchv1.DeploymentCreate{},
			[]string{"schedules", "concurrency_limit", "global_concurrency_limit_id", "labels", "version_info"},
		},
		{&orchv1.DeploymentSchedule{}, &orchv1.DeploymentScheduleUpdate{}, []string{"replaces"}},
		{&orchv1.FlowRun{}, &orchv1.FlowRunUpdate{}, nil},
		{&orchv1.Variable{}, &orchv1.VariableUpdate{}, []string{"tags"}},
		{&orchv1.Webhook{}, &orchv1.WebhookReplace{}, []string{"verification", "verify_token"}},
		{&orchv1.Webhook{}, &orchv1.WebhookUpdate{}, []string{"verification", "verify_token"}},
		{&orchv1.Workspace{}, &orchv1.WorkspaceUpdate{}, nil},
	} {
		t.Run(string(c.update.ProtoReflect().Descriptor().Name()), func(t *testing.T) {
			t.Parallel()
			fields := c.update.ProtoReflect().Descriptor().Fields()
			mask := make([]string, fields.Len())
			for i := range mask {
				mask[i] = string(fields.Get(i).Name())
			}
			require.Equal(t, c.rest, fieldmask.Apply(c.resource, c.update, mask))
		})
	}
}
