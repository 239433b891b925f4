package runorder

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func labelled(name, value string) map[string]*orchv1.Scalar {
	return map[string]*orchv1.Scalar{name: {Kind: &orchv1.Scalar_StringValue{StringValue: value}}}
}

func withSlug(slug string) *orchv1.DeploymentSchedule { return &orchv1.DeploymentSchedule{Slug: &slug} }

func TestSettings(t *testing.T) {
	t.Parallel()
	s := NewSettings(vocabulary.Orch)
	require.Zero(t, s.Priority(nil, nil))
	require.Zero(t, s.Weight(nil, []byte("{}")))
	require.EqualValues(t, 7, s.Priority(labelled("orch.priority", "7"), []byte(`{"cpu": 1}`)))
	require.EqualValues(t, 80, s.Priority(labelled("orch.priority", "7"), []byte(`{"orch.priority": 80}`)))
	require.EqualValues(t, 4, s.Weight(nil, []byte(`{"orch.weight": 4}`)))
	require.Zero(t, s.Priority(labelled("orch.priority", "high"), nil), "stored before it was checked")
	require.Zero(t, s.LatenessLimit(nil, nil))
	require.Zero(t, s.LatenessLimit(labelled("orch.lateness", "keep"), nil))
	require.Zero(t, s.LatenessLimit(labelled("orch.lateness", "never"), nil), "stored before it was checked")
	require.EqualValues(t, 15, s.LatenessLimit(labelled("orch.lateness", "skip"), nil))
	require.EqualValues(t, 600, s.LatenessLimit(labelled("orch.lateness", "skip"), []byte(`{"orch.lateness": 600}`)))
	require.EqualValues(t, 9, NewSettings(vocabulary.Prefect).Priority(labelled("prefect.priority", "9"), nil))
}

func TestCheckOfSettings(t *testing.T) {
	t.Parallel()
	s := NewSettings(vocabulary.Orch)
	for name, c := range map[string]struct {
		labels    map[string]*orchv1.Scalar
		variables string
		want      string
	}{
		"none":                  {variables: `{"priority": "high", "cpu": 1}`},
		"a priority":            {labels: labelled("orch.priority", "100"), variables: `{"orch.priority": 0, "orch.weight": 100}`},
		"high":                  {variables: `{"orch.priority": "high"}`, want: `orch.priority is "high", not a whole number from 0 to 100`},
		"a label of high":       {labels: labelled("orch.priority", "high"), want: `orch.priority is "high"`},
		"above 100":             {variables: `{"orch.priority": 101}`, want: "orch.priority is 101"},
		"half a point":          {variables: `{"orch.priority": 0.5}`, want: "orch.priority is 0.5"},
		"null":                  {variables: `{"orch.priority": null}`, want: "orch.priority is null"},
		"a weight of 0":         {variables: `{"orch.weight": 0}`, want: "orch.weight is 0, not a whole number from 1 to 100"},
		"lateness":              {labels: labelled("orch.lateness", "keep"), variables: `{"orch.lateness": 15, "orch.lateness.nightly": "skip", "orch.latenesses": 1}`},
		"lateness of never":     {variables: `{"orch.lateness": "never"}`, want: `orch.lateness is "never", not "keep" or "skip" or a whole number from 15 to 31622400`},
		"lateness of a second":  {variables: `{"orch.lateness": 1}`, want: "orch.lateness is 1, not"},
		"a schedule's priority": {labels: labelled("orch.priority.nightly", "-1"), want: `orch.priority.nightly is "-1"`},
	} {
		t.Run(name, func(t *testing.T) {
			err := s.Check(c.labels, []byte(c.variables))
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestRunsInheritTheSettingsOfTheirDeployment(t *testing.T) {
	t.Parallel()
	s := NewSettings(vocabulary.Orch)
	d := &orchv1.Deployment{JobVariables: []byte(`{"orch.priority": 20, "orch.weight": 3}`), Labels: labelled("orch.priority.nightly", "5")}
	require.EqualValues(t, 20, s.Priority(s.Inherit(d, nil), nil))
	require.EqualValues(t, 5, s.Priority(s.Inherit(d, withSlug("nightly")), nil))
	require.EqualValues(t, 20, s.Priority(s.Inherit(d, withSlug("hourly")), nil))
	require.EqualValues(t, 3, s.Weight(s.Inherit(d, nil), nil))
	require.Len(t, d.GetLabels(), 1)

	d.JobVariables = []byte(`{"orch.lateness": "skip", "orch.lateness.hourly": 600, "orch.lateness.daily": "keep"}`)
	require.EqualValues(t, 15, s.LatenessLimit(s.Inherit(d, withSlug("nightly")), nil))
	require.EqualValues(t, 600, s.LatenessLimit(s.Inherit(d, withSlug("hourly")), nil))
	require.Zero(t, s.LatenessLimit(s.Inherit(d, withSlug("daily")), nil))
	require.Zero(t, s.LatenessLimit(s.Inherit(d, nil), nil), "a run of no schedule")
	require.Empty(t, s.Inherit(&orchv1.Deployment{}, withSlug("nightly")))
}
