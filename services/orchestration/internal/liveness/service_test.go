package liveness

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestRulesAreChecked(t *testing.T) {
	t.Parallel()
	deployment := new(uuid.NewString())
	for _, c := range []struct {
		name  string
		rules []*orchv1.RunTimeoutRule
		want  string // A part of the error; empty for none.
	}{
		{name: "no rules"},
		{name: "an empty rule", rules: []*orchv1.RunTimeoutRule{{}}},
		{name: "the least", rules: []*orchv1.RunTimeoutRule{{
			HeartbeatInterval: durationpb.New(30 * time.Second), MissedHeartbeats: new(int64(2)), PendingTimeout: durationpb.New(30 * time.Second),
		}}},
		{name: "off", rules: []*orchv1.RunTimeoutRule{{MissedHeartbeats: new(int64(0)), PendingTimeout: durationpb.New(0)}}},
		{name: "one missed heartbeat", rules: []*orchv1.RunTimeoutRule{{MissedHeartbeats: new(int64(1))}}, want: "at least 2"},
		{name: "a short interval", rules: []*orchv1.RunTimeoutRule{{HeartbeatInterval: durationpb.New(time.Second)}}, want: "between 30 and 86400 seconds"},
		{name: "no interval", rules: []*orchv1.RunTimeoutRule{{HeartbeatInterval: durationpb.New(0)}}, want: "between 30 and 86400 seconds"},
		{name: "a negative timeout", rules: []*orchv1.RunTimeoutRule{{PendingTimeout: durationpb.New(-time.Hour)}}, want: "between 30 and 604800 seconds"},
		{name: "a timeout of a year", rules: []*orchv1.RunTimeoutRule{{PendingTimeout: durationpb.New(365 * 24 * time.Hour)}}, want: "between 30 and 604800 seconds"},
		{name: "two rules for the workspace", rules: []*orchv1.RunTimeoutRule{{}, {}}, want: "another rule applies"},
		{name: "two rules for a deployment", rules: []*orchv1.RunTimeoutRule{{DeploymentId: deployment}, {}, {DeploymentId: deployment}}, want: "another rule applies"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := check(c.rules)
			require.Equal(t, c.want != "", err != nil, err)
			if c.want != "" {
				require.ErrorContains(t, err, c.want)
			}
		})
	}
}

func TestADeploymentsRuleComesBeforeThatOfItsWorkspace(t *testing.T) {
	t.Parallel()
	ws, deployment := uuid.New(), uuid.New()
	set := timeoutSet{}
	set.add(ws, []*orchv1.RunTimeoutRule{
		{DeploymentId: new(deployment.String()), MissedHeartbeats: new(int64(5))},
		{HeartbeatInterval: durationpb.New(time.Minute), PendingTimeout: durationpb.New(time.Hour)},
		{DeploymentId: new("no id"), MissedHeartbeats: new(int64(7))},
	})
	require.Equal(t, timeouts{interval: time.Minute, missed: 5, pending: time.Hour, reschedulePending: true}, set.forRun(ws, deployment))
	require.Equal(t, timeouts{interval: time.Minute, missed: 3, pending: time.Hour, reschedulePending: true}, set.forRun(ws, uuid.New()))
	require.Equal(t, defaults, set.forRun(uuid.New(), deployment))
	require.True(t, set.endPending())
	require.False(t, timeoutSet{}.endPending())
}
