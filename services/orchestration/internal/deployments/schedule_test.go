package deployments

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func interval(i *orchv1.IntervalSchedule) *orchv1.Schedule {
	return &orchv1.Schedule{Kind: &orchv1.Schedule_Interval{Interval: i}}
}

// A schedule must mean the same whenever it is read.
func TestSettle(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)
	hour := durationpb.New(time.Hour)
	asked := interval(&orchv1.IntervalSchedule{Interval: hour})
	settled, err := settle(asked, now)
	require.NoError(t, err)
	require.Equal(t, now, settled.GetInterval().GetAnchorDate().AsTime())
	require.Equal(t, "UTC", settled.GetInterval().GetTimezone())
	require.Nil(t, asked.GetInterval().AnchorDate, "what was asked for stays as it is")

	anchor := timestamppb.New(now.AddDate(-1, 0, 0))
	settled, err = settle(interval(&orchv1.IntervalSchedule{Interval: hour, AnchorDate: anchor}), now)
	require.NoError(t, err)
	require.True(t, proto.Equal(anchor, settled.GetInterval().GetAnchorDate()))

	for zone, ok := range map[string]bool{"Europe/Berlin": true, "UTC": true, "Local": false, "Mars/Base": false} {
		_, err := settle(&orchv1.Schedule{Kind: &orchv1.Schedule_Cron{Cron: &orchv1.CronSchedule{Cron: "* * * * *", Timezone: &zone}}}, now)
		require.Equal(t, ok, err == nil, zone)
		if !ok {
			require.Equal(t, int32(422), rpc.HTTPError(err).GetStatus(), zone)
		}
	}
	for _, bad := range []time.Duration{0, -time.Second} {
		_, err := settle(interval(&orchv1.IntervalSchedule{Interval: durationpb.New(bad)}), now)
		require.Equal(t, int32(422), rpc.HTTPError(err).GetStatus())
	}
}

func TestAnchored(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]string{
		"FREQ=DAILY":       "DTSTART:20200101T000000\nFREQ=DAILY",
		"RRULE:FREQ=DAILY": "DTSTART:20200101T000000\nRRULE:FREQ=DAILY",
		"DTSTART:20240101T000000\nRRULE:FREQ=DAILY": "DTSTART:20240101T000000\nRRULE:FREQ=DAILY",
		"dtstart:20240101T000000\nrrule:freq=daily": "dtstart:20240101T000000\nrrule:freq=daily",
		"FREQ=DAILY;UNTIL=20990101T000000":          "DTSTART:20200101T000000\nFREQ=DAILY;UNTIL=20990101T000000",
		"FREQ=DAILY;UNTIL=20990101T000000Z":         "FREQ=DAILY;UNTIL=20990101T000000Z",
	} {
		require.Equal(t, want, anchored(rule))
	}
}

func TestDistinctSlugs(t *testing.T) {
	t.Parallel()
	with := func(slugs ...*string) []*orchv1.DeploymentSchedule {
		var list []*orchv1.DeploymentSchedule
		for _, slug := range slugs {
			list = append(list, &orchv1.DeploymentSchedule{Slug: slug})
		}
		return list
	}
	require.NoError(t, distinctSlugs(with(nil, nil, new("a"), new("b"))))
	require.Equal(t, int32(409), rpc.HTTPError(distinctSlugs(with(new("a"), nil, new("a")))).GetStatus())
}

// A change of what was sent leaves the rest alone.
func TestApplyFollowsTheMask(t *testing.T) {
	t.Parallel()
	before := &orchv1.Deployment{Name: "d", Version: new("1"), Description: new("old"), Labels: map[string]*orchv1.Scalar{"a": {}}}
	a := &createRequest{
		create: &orchv1.DeploymentCreate{Name: "other", Version: new("2"), Paused: true}, mask: []string{"version", "description"},
		now: time.Now(), newID: uuid.New,
	}
	d := proto.Clone(before).(*orchv1.Deployment)
	require.NoError(t, a.apply(d))
	require.Equal(t, "d", d.GetName())
	require.Equal(t, "2", d.GetVersion())
	require.Nil(t, d.Description, "it was sent as null")
	require.False(t, d.GetPaused())
	require.Len(t, d.GetLabels(), 1)
	require.Contains(t, allFields, "version")
}
