package orchestration_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration"
)

// evaluate evaluates an automation over the last hour.
func (d *domain) evaluate(automation string) (*orchv1.AutomationEvaluation, error) {
	query := &orchv1.AutomationEvaluationQuery{}
	text := fmt.Sprintf(`{"since":%q,%s}`, time.Now().Add(-time.Hour).UTC().Format(time.RFC3339), automation)
	require.NoError(d.t, restjson.Unmarshal([]byte(text), query))
	result, _, err := try[*orchv1.AutomationEvaluation](d, orchv1.AutomationService_EvaluateAutomation_FullMethodName,
		&orchv1.EvaluateAutomationRequest{Query: query})
	return result, err
}

func TestAnAutomationIsEvaluatedOverThePast(t *testing.T) {
	d := newDomain(t)
	at := time.Now().Add(-30 * time.Minute)
	for i := range 6 {
		d.emit("order.paid", fmt.Sprintf("order.%d", i%2), func(e *orchv1.Event) {
			e.Occurred = timestamppb.New(at.Add(time.Duration(i) * time.Second))
		})
	}
	d.emit("order.lost", "order.0")
	d.eventually("order.paid", 6)
	d.eventually("order.lost", 1)

	found, err := d.evaluate(`"automation":{"name":"a","actions":[{"type":"do-nothing"}],"trigger":{"type":"event","posture":"Reactive",
		"expect":["order.paid"],"for_each":["orch.resource.id"],"threshold":3,"within":60}}`)
	require.NoError(t, err)
	require.Len(t, found.GetFirings(), 2, "%v", found)
	require.EqualValues(t, 6, found.GetMatched())
	require.Equal(t, map[string]string{"orch.resource.id": "order.0"}, found.GetFirings()[0].GetLabels())
	require.Contains(t, found.GetFirings()[0].GetReason(), "3, reached the threshold 3")
	require.Equal(t, "order.paid", found.GetFirings()[0].GetEvent())
	require.Empty(t, found.GetStoppedBy())

	found, err = d.evaluate(`"limit":4,"automation":{"name":"a","actions":[],"trigger":{"type":"event","posture":"Proactive","expect":["order.*"],"within":60}}`)
	require.NoError(t, err)
	require.Len(t, found.GetFirings(), 4)
	require.Equal(t, "limit", found.GetStoppedBy())
	require.Contains(t, found.GetFirings()[0].GetReason(), "0 of 1 expected events occurred")

	stored := d.automation(`{"name":"off","enabled":false,"trigger":{"type":"sequence","within":60,"triggers":[
		{"type":"event","posture":"Reactive","expect":["order.paid"]},{"type":"event","posture":"Reactive","expect":["order.lost"]}]},
		"actions":[{"type":"do-nothing"}]}`)
	found, err = d.evaluate(fmt.Sprintf(`"automation_id":%q`, stored.GetId()))
	require.NoError(t, err)
	require.Empty(t, found.GetFirings(), "the orders were lost half an hour after they were paid")
	require.Empty(t, d.eventually("orch.automation.triggered", 0), "an evaluation has no effects")

	for _, bad := range []string{`"limit":1`, `"automation_id":"` + uuid.NewString() + `"`, `"until":"2020-01-01T00:00:00Z","automation_id":"` + stored.GetId() + `"`} {
		_, err := d.evaluate(bad)
		require.Error(t, err, bad)
	}
}

func TestTheHistoryOfAnAutomationLeadsFromTheEventToTheRun(t *testing.T) {
	d := newDomain(t)
	deployment := d.deployment(d.flow("ship")).GetId()
	a := d.automation(fmt.Sprintf(`{"name":"ship it","trigger":{"type":"event","posture":"Reactive","expect":["order.paid"]},
		"actions":[{"type":"run-deployment","deployment_id":%q},{"type":"pause-work-pool","work_pool_id":%q}]}`, deployment, uuid.NewString()))
	id := d.emit("order.paid", "order.1")
	d.eventually("orch.automation.action.executed", 1)
	d.eventually("orch.automation.action.failed", 1)

	history := call[*orchv1.AutomationHistory](d, orchv1.AutomationService_ReadAutomationHistory_FullMethodName, &orchv1.ReadAutomationHistoryRequest{Id: a.GetId()})
	require.Len(t, history.GetFirings(), 1)
	f := history.GetFirings()[0]
	require.Equal(t, id, f.GetTriggeringEventId())
	require.Len(t, f.GetActions(), 2)
	runs := call[*orchv1.FlowRunList](d, orchv1.FlowRunService_ReadFlowRuns_FullMethodName, &orchv1.ReadFlowRunsRequest{Query: &orchv1.FlowRunQuery{}}).GetFlowRuns()
	require.Equal(t, runs[0].GetId(), f.GetActions()[0].GetFlowRunId())
	require.Equal(t, orchv1.ActionOutcome_ACTION_OUTCOME_EXECUTED, f.GetActions()[0].GetOutcome())
	require.Equal(t, orchv1.ActionOutcome_ACTION_OUTCOME_FAILED, f.GetActions()[1].GetOutcome())
	require.Contains(t, f.GetActions()[1].GetReason(), "404")

	_, _, err := try[proto.Message](d, orchv1.AutomationService_ReadAutomationHistory_FullMethodName, &orchv1.ReadAutomationHistoryRequest{Id: uuid.NewString()})
	code, _ := status(err)
	require.Equal(t, 404, code)
}

// The history shows an action that waits for its delivery. The actions after it do not wait for the receiver.
func TestTheHistoryShowsActionsThatWait(t *testing.T) {
	release, arrived := make(chan struct{}), make(chan struct{}, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	}))
	t.Cleanup(receiver.Close)
	t.Cleanup(func() { close(release) })
	d := newDomain(t, func(c *orchestration.Config) { c.Automations.AllowedNetworks = "127.0.0.1" })
	document := d.notification("slack-webhook", fmt.Sprintf(`{"url":%q}`, receiver.URL))
	a := d.automation(fmt.Sprintf(`{"name":"a","trigger":{"type":"event","posture":"Reactive","expect":["go"]},"actions":[
		{"type":"send-notification","block_document_id":%q,"body":"x"},{"type":"do-nothing"},{"type":"do-nothing"}]}`, document))
	d.emit("go", "all")
	<-arrived
	d.eventually("orch.automation.action.executed", 2)
	history := call[*orchv1.AutomationHistory](d, orchv1.AutomationService_ReadAutomationHistory_FullMethodName, &orchv1.ReadAutomationHistoryRequest{Id: a.GetId()})
	actions := history.GetFirings()[0].GetActions()
	require.Len(t, actions, 3)
	for i, one := range actions {
		require.EqualValues(t, i, one.GetIndex())
		want := orchv1.ActionOutcome_ACTION_OUTCOME_EXECUTED
		if i == 0 {
			want = orchv1.ActionOutcome_ACTION_OUTCOME_PENDING
		}
		require.Equal(t, want, one.GetOutcome())
	}
}

// Actions on pools, queues and schedules call the services that clients call.
func TestActionsPauseWorkPoolsQueuesAndSchedules(t *testing.T) {
	d := newDomain(t)
	pool := call[*orchv1.WorkPool](d, orchv1.WorkPoolService_CreateWorkPool_FullMethodName,
		&orchv1.CreateWorkPoolRequest{WorkPool: &orchv1.WorkPoolCreate{Name: "pool", Type: "process"}})
	deployment := d.deployment(d.flow("ship")).GetId()
	schedules := call[*orchv1.DeploymentScheduleList](d, orchv1.DeploymentService_CreateDeploymentSchedules_FullMethodName, &orchv1.CreateDeploymentSchedulesRequest{
		Id: deployment, Schedules: []*orchv1.DeploymentScheduleCreate{{Active: true, Schedule: &orchv1.Schedule{
			Kind: &orchv1.Schedule_Interval{Interval: &orchv1.IntervalSchedule{Interval: durationpb.New(time.Hour)}},
		}}},
	}).GetSchedules()
	d.automation(fmt.Sprintf(`{"name":"stop","trigger":{"type":"event","posture":"Reactive","expect":["stop"]},"actions":[
		{"type":"pause-work-pool","work_pool_id":%q},{"type":"pause-work-queue","work_queue_id":%q},
		{"type":"pause-schedule","deployment_id":%q,"schedule_id":%q},{"type":"pause-deployment","deployment_id":%q}]}`,
		pool.GetId(), pool.GetDefaultQueueId(), deployment, schedules[0].GetId(), deployment))
	d.automation(`{"name":"go","trigger":{"type":"event","posture":"Reactive","expect":["go"]},"actions":[
		{"type":"resume-work-pool","source":"inferred"},{"type":"resume-work-queue","source":"inferred"}]}`)
	paused := func() (bool, bool, bool, bool) {
		p := call[*orchv1.WorkPool](d, orchv1.WorkPoolService_ReadWorkPool_FullMethodName, &orchv1.ReadWorkPoolRequest{Name: "pool"})
		q := call[*orchv1.WorkQueue](d, orchv1.WorkQueueService_ReadWorkQueue_FullMethodName, &orchv1.ReadWorkQueueRequest{Id: pool.GetDefaultQueueId()})
		s := call[*orchv1.DeploymentScheduleList](d, orchv1.DeploymentService_ReadDeploymentSchedules_FullMethodName, &orchv1.ReadDeploymentSchedulesRequest{Id: deployment})
		dep := call[*orchv1.Deployment](d, orchv1.DeploymentService_ReadDeployment_FullMethodName, &orchv1.ReadDeploymentRequest{Id: deployment})
		return p.GetIsPaused(), q.GetIsPaused(), !s.GetSchedules()[0].GetActive(), dep.GetPaused()
	}
	d.emit("stop", "all")
	executed := d.eventually("orch.automation.action.executed", 4)
	require.Len(t, executed, 4)
	p, q, s, dep := paused()
	require.True(t, p && q && s && dep, "%t %t %t %t", p, q, s, dep)

	d.emit("go", "all", func(e *orchv1.Event) {
		e.Related = []*orchv1.RelatedResource{
			{Labels: map[string]string{"orch.resource.id": "orch.work-pool." + pool.GetId(), "orch.resource.role": "pool"}},
			{Labels: map[string]string{"orch.resource.id": "orch.work-queue." + pool.GetDefaultQueueId(), "orch.resource.role": "queue"}},
		}
	})
	d.eventually("orch.automation.action.executed", 6)
	p, q, _, _ = paused()
	require.False(t, p || q)
}

// A permanent failure is an event and a dead letter; a retry of the letter executes the action.
func TestAFailedActionIsADeadLetter(t *testing.T) {
	d := newDomain(t)
	flow := d.flow("ship")
	deployment := d.deployment(flow).GetId()
	gone := uuid.NewString()
	d.automation(fmt.Sprintf(`{"name":"a","trigger":{"type":"event","posture":"Reactive","expect":["go"]},"actions":[
		{"type":"pause-deployment","deployment_id":%q},{"type":"pause-deployment","source":"inferred"}]}`, gone))
	d.emit("go", "all")
	d.eventually("orch.automation.action.failed", 2)
	letters := func() []*orchv1.DeadLetter {
		return call[*orchv1.DeadLetterList](d, orchv1.DeadLetterService_ReadDeadLetters_FullMethodName, &orchv1.ReadDeadLettersRequest{}).GetDeadLetters()
	}
	eventually(t, func() bool { return len(letters()) == 2 }, "dead letters")
	for _, letter := range letters() {
		require.Equal(t, "automation.action", letter.GetKind())
		require.NotEmpty(t, letter.GetReason())
		_, _, err := try[*emptypb.Empty](d, orchv1.DeadLetterService_RetryDeadLetter_FullMethodName, &orchv1.RetryDeadLetterRequest{Id: letter.GetId()})
		code, _ := status(err)
		require.Equal(t, 409, code, "it fails again")
	}

	d.automation(fmt.Sprintf(`{"name":"b","trigger":{"type":"event","posture":"Reactive","expect":["later"]},"actions":[
		{"type":"send-notification","block_document_id":%q,"body":"x"}]}`, deployment))
	require.Len(t, letters(), 2)
}

// An email notification is sent to the SMTP server of the installation.
func TestAnEmailIsSent(t *testing.T) {
	address, mails := smtpServer(t)
	d := newDomain(t, func(c *orchestration.Config) {
		c.Automations.SMTPURL, c.Automations.SMTPFrom = "smtp://"+address, "Orch <orch@example.com>"
	})
	d.automation(`{"name":"mail","trigger":{"type":"event","posture":"Reactive","expect":["run.failed"]},"actions":[
		{"type":"send-email-notification","emails":["ops@example.com"],"subject":"Failed: {{ event.resource.id }}\r\nBcc: x@example.com","body":"Größe {{ event.payload.n }}"}]}`)
	d.emit("run.failed", "run.7")
	text := <-mails
	require.Contains(t, text, "RCPT TO:<ops@example.com>")
	require.Contains(t, text, "Subject: Failed: run.7 Bcc: x@example.com\n")
	require.Contains(t, text, "Gr=C3=B6=C3=9Fe 5")
	d.eventually("orch.automation.action.executed", 1)
}

// smtpServer returns the address of an SMTP server without TLS, and what its clients send.
func smtpServer(t *testing.T) (address string, mails <-chan string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	received := make(chan string, 2)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serveSMTP(conn, received)
		}
	}()
	t.Cleanup(func() { require.NoError(t, listener.Close()); <-done })
	return listener.Addr().String(), received
}

// serveSMTP accepts one message and sends all lines of the client to mails.
func serveSMTP(conn net.Conn, mails chan<- string) {
	defer conn.Close()
	var all strings.Builder
	reply := func(text string) { _, _ = fmt.Fprintf(conn, "%s\r\n", text) }
	reply("220 test")
	data := false
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		line := lines.Text()
		all.WriteString(line + "\n")
		switch {
		case data && line == ".":
			data = false
			reply("250 queued")
			mails <- all.String()
		case data:
		case line == "DATA":
			data = true
			reply("354 go on")
		case line == "QUIT":
			reply("221 bye")
			return
		default:
			reply("250 ok")
		}
	}
}
