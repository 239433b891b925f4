package pages

import (
	"time"

	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// pauseFor is how long a run that the dashboard pauses waits before it fails.
const pauseFor = 24 * time.Hour

// terminal reports whether a run has ended.
func terminal(t orchv1.StateType) bool {
	switch t {
	case orchv1.StateType_STATE_TYPE_COMPLETED, orchv1.StateType_STATE_TYPE_FAILED,
		orchv1.StateType_STATE_TYPE_CANCELLED, orchv1.StateType_STATE_TYPE_CRASHED:
		return true
	}
	return false
}

// offerFlowRunActions adds the buttons that fit the run's state and the reader's role.
func offerFlowRunActions(r *page.Request, run *orchv1.FlowRun, v *flowRunView) {
	ended := terminal(run.GetStateType())
	for _, b := range []struct {
		button
		rpc  string
		fits bool
	}{
		{button{Action: "retry-run", Title: "Retry"}, orchv1.FlowRunService_SetFlowRunState_FullMethodName, ended && run.DeploymentId != nil},
		{button{Action: "cancel-run", Title: "Cancel"}, orchv1.FlowRunService_SetFlowRunState_FullMethodName, !ended && run.GetStateType() != orchv1.StateType_STATE_TYPE_CANCELLING},
		{button{Action: "pause-run", Title: "Pause"}, orchv1.FlowRunService_SetFlowRunState_FullMethodName, run.GetStateType() == orchv1.StateType_STATE_TYPE_RUNNING},
		{button{Action: "resume-run", Title: "Resume"}, orchv1.FlowRunService_ResumeFlowRun_FullMethodName, run.GetStateType() == orchv1.StateType_STATE_TYPE_PAUSED && !asks(run)},
		{button{Action: "delete-run", Title: "Delete", Class: "danger"}, orchv1.FlowRunService_DeleteFlowRun_FullMethodName, ended},
	} {
		if b.fits && r.May(b.rpc) {
			v.Buttons = append(v.Buttons, b.button)
		}
	}
	if run.DeploymentId != nil && r.May(orchv1.DeploymentService_CreateFlowRunFromDeployment_FullMethodName) {
		v.Links = append(v.Links, tab{Title: "Run again", Path: r.To("deployments", "deployment", run.GetDeploymentId(), "run") + "?like=" + run.GetId()})
	}
	if r.May(orchv1.FlowRunService_SetFlowRunState_FullMethodName) {
		for _, name := range show.StateWords() {
			v.States = append(v.States, choice{Value: name, Title: name})
		}
	}
}

// cancelling is the state that cancels a run.
func cancelling() apicall.JSON {
	return apicall.JSON{"type": "CANCELLING", "message": "Cancelled from the dashboard"}
}

// awaitingRetry is the state that schedules a run again at once.
func awaitingRetry(r *page.Request) apicall.JSON {
	return apicall.JSON{
		"type": "SCHEDULED", "name": "AwaitingRetry", "message": "Retried from the dashboard",
		"state_details": apicall.JSON{"scheduled_time": r.Now},
	}
}

func flowRunActions() []page.Action {
	setState := []string{orchv1.FlowRunService_SetFlowRunState_FullMethodName}
	return []page.Action{
		{Name: "cancel-run", Calls: setState, Done: "The run is being cancelled.", Do: func(r *page.Request) (page.View, error) {
			return proposeState(r, "cancel-run", cancelling(), false)
		}},
		{Name: "retry-run", Calls: setState, Done: "The run is scheduled again.", Do: func(r *page.Request) (page.View, error) {
			return proposeState(r, "retry-run", awaitingRetry(r), false)
		}},
		{Name: "pause-run", Calls: setState, Done: "The run pauses after its current task.", Do: func(r *page.Request) (page.View, error) {
			return proposeState(r, "pause-run", apicall.JSON{
				"type": "PAUSED", "name": "Suspended", "message": "Paused from the dashboard",
				"state_details": apicall.JSON{"pause_timeout": r.Now.Add(pauseFor), "pause_reschedule": true},
			}, false)
		}},
		{Name: "resume-run", Calls: append([]string{orchv1.FlowRunService_ResumeFlowRun_FullMethodName}, questionCalls...), Done: "The run resumes.", Do: resumeFlowRun},
		{Name: "set-run-state", Calls: setState, Done: "The state is set.", Do: func(r *page.Request) (page.View, error) {
			state := apicall.JSON{"type": r.Field("state")}
			if message := r.Field("message"); message != "" {
				state["message"] = message
			}
			return proposeState(r, "set-run-state", state, r.Field("force") != "")
		}},
		{Name: "delete-run", Calls: []string{orchv1.FlowRunService_DeleteFlowRun_FullMethodName}, Done: "The run is deleted.", Do: deleteFlowRun},
	}
}

// proposeState proposes a state and shows the page again, with the reason if the rules did not accept it.
func proposeState(r *page.Request, action string, state apicall.JSON, force bool) (page.View, error) {
	result := apicall.New[*orchv1.OrchestrationResult](orchv1.FlowRunService_SetFlowRunState_FullMethodName, apicall.Input{
		Path: map[string]string{"id": r.Vars["id"]}, Body: apicall.JSON{"state": state, "force": force},
	})
	err := r.Call(result)
	return afterTransition(r, action, result.Result(), err)
}

// afterTransition shows the run after a decision of the orchestration rules.
func afterTransition(r *page.Request, action string, result *orchv1.OrchestrationResult, err error) (page.View, error) {
	problem, err := transitionProblem(result, err)
	switch {
	case err != nil:
		return page.View{}, err
	case problem == "":
		return r.Done(r.Here(), action, -1), nil
	}
	view, err := showFlowRun(r, "", flowRunOverview)
	view.Notices = append(view.Notices, page.Notice{Kind: "bad", Text: problem})
	return view, err
}

// transitionProblem words why a state was not accepted; empty if it was. Errors that are not about the state are returned.
func transitionProblem(result *orchv1.OrchestrationResult, err error) (string, error) {
	if err != nil {
		if problem := page.Problem(err); problem != "" {
			return problem, nil
		}
		return "", err
	}
	if result.GetStatus() == orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT {
		return "", nil
	}
	return refusal(result), nil
}

// refusal words a decision that did not accept the proposed state.
func refusal(result *orchv1.OrchestrationResult) string {
	details := result.GetDetails()
	reason := details.GetReject().GetReason() + details.GetAbort().GetReason() + details.GetWait().GetReason()
	if reason == "" {
		reason = "The rules give no reason."
	}
	return "The state did not change as proposed: " + show.Line(reason, 300)
}

func deleteFlowRun(r *page.Request) (page.View, error) {
	head, err := readFlowRunHead(r)
	if err != nil {
		return page.View{}, err
	}
	if !confirmed(r) {
		return confirm(r, confirmView{
			Title: "Delete the run?", Text: "The run " + show.Line(head.run.GetName(), 80) + " and its history of states are deleted. Its logs and events stay until they expire.",
			Button: "Delete", Action: "delete-run",
		}), nil
	}
	deletion := apicall.New[*emptypb.Empty](orchv1.FlowRunService_DeleteFlowRun_FullMethodName, apicall.ID(r.Vars["id"]))
	if err := r.Call(deletion); err != nil {
		return page.View{}, err
	}
	return r.Done(r.To("runs"), "delete-run", -1), nil
}
