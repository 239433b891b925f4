package action

import (
	"context"
	"fmt"
	"log/slog"
	"net/textproto"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/clock"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/egress"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

// Readers of events learn no address, name or reply of the operator's mail server.
func TestProblemsOfMailNameNoAddress(t *testing.T) {
	t.Parallel()
	closed, err := ParseMailer("smtp://127.0.0.1:1", "orch@example.com")
	require.NoError(t, err)
	for name, test := range map[string]struct {
		err       error
		problem   string
		permanent bool
	}{
		"no connection": {closed.send(t.Context(), nil, nil), "the exchange with the SMTP server failed", false},
		"busy":          {fmt.Errorf("name the sender: %w", &textproto.Error{Code: 421, Msg: "mail.internal"}), "the SMTP server replied 421", false},
		"refused":       {fmt.Errorf("name the sender: %w", &textproto.Error{Code: 550, Msg: "10.1.2.3"}), "the SMTP server replied 550", true},
		"time":          {context.DeadlineExceeded, "the exchange with the SMTP server failed", false},
		"no TLS":        {errNoTLS, errNoTLS.Error(), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problem, permanent := mailProblem(test.err)
			require.Equal(t, test.problem, problem)
			require.Equal(t, test.permanent, permanent)
		})
	}
}

// A mail server that is away for an hour costs no mail, and the attempts of one mail count its recipients once.
func TestMailWaitsForItsServer(t *testing.T) {
	t.Parallel()
	closed, err := ParseMailer("smtp://127.0.0.1:1", "orch@example.com")
	require.NoError(t, err)
	now, ws := clock.NewManual(noon), uuid.New()
	r := New(Deps{
		Store:      storetest.Embedded(t, now),
		Random:     func() float64 { return 0.5 },
		Log:        slog.New(slog.NewTextHandler(t.Output(), nil)),
		Account:    func(context.Context, uuid.UUID) (uuid.UUID, error) { return uuid.UUID{1}, nil },
		Mail:       closed,
		Recipients: Recipients{PerHour: 1},
	})
	id := uuid.New()
	_, err = store.InsertAll(t.Context(), r.runs, ws, []*orchv1.AutomationActionRun{{
		Id: id.String(), TriggeredEventId: uuid.NewString(), Next: proto.Int64(noon.UnixMicro()),
		Firing: &orchv1.AutomationFiring{Id: uuid.NewString(), Triggered: noon.UnixMicro()},
		Action: &orchv1.Action{Kind: &orchv1.Action_SendEmailNotification{SendEmailNotification: &orchv1.SendEmailNotification{
			Emails: []string{"ops@example.com"}, Subject: "s", Body: "b",
		}}},
	}})
	require.NoError(t, err)
	for attempt, wait := range []time.Duration{5 * time.Second, 15 * time.Second, 45 * time.Second, 135 * time.Second, 405 * time.Second, 1215 * time.Second} {
		due, err := r.runs.Get(t.Context(), ws, id)
		require.NoError(t, err)
		r.execute(t.Context(), ws, due)
		after, err := r.runs.Get(t.Context(), ws, id)
		require.NoError(t, err)
		require.EqualValues(t, attempt+1, after.GetAttempts())
		require.Equal(t, "Notification failed: the exchange with the SMTP server failed", after.GetReason())
		require.Equal(t, now.Now().Add(wait).UnixMicro(), after.GetNext())
		now.Advance(wait)
	}
}

func TestAttemptsOfAnAction(t *testing.T) {
	t.Parallel()
	now := clock.NewManual(noon)
	r := New(Deps{Store: storetest.Embedded(t, now), Random: func() float64 { return 0.5 }})
	outside := newResult().later(store.ErrUnavailable)
	outside.outside = true
	for name, test := range map[string]struct {
		result   *result
		attempts int32
		age      time.Duration
		wait     time.Duration
		again    bool
	}{
		"success":                        {newResult(), 1, 0, 0, false},
		"refusal":                        {newResult().fail("no"), 1, 0, 0, false},
		"first failure of this server":   {newResult().later(store.ErrUnavailable), 1, 0, 1250 * time.Millisecond, true},
		"third failure of this server":   {newResult().later(store.ErrUnavailable), 3, 0, 20 * time.Second, true},
		"last failure of this server":    {newResult().later(store.ErrUnavailable), 4, 0, 80 * time.Second, false},
		"many failures outside":          {outside, 30, time.Hour, egress.LongestWait, true},
		"failure shortly before the end": {outside, 30, egress.RetryFor - time.Minute, time.Minute, true},
		"failure at the end":             {outside, 30, egress.RetryFor, 0, false},
		"failure after the end":          {outside, 30, egress.RetryFor + time.Hour, -time.Hour, false},
		"first failure outside":          {outside, 1, 0, egress.FirstRetry, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := &orchv1.AutomationActionRun{Attempts: test.attempts, Firing: &orchv1.AutomationFiring{Triggered: noon.Add(-test.age).UnixMicro()}}
			wait, again := r.nextAttempt(run, test.result)
			require.Equal(t, test.again, again)
			require.Equal(t, test.wait, wait)
		})
	}
}
