package pages

import (
	"encoding/json"
	"net/http"
	"time"

	"google.golang.org/genproto/googleapis/api/httpbody"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// questionView is what a paused run asks for before it resumes.
type questionView struct {
	Description markup.Markup
	// Problem tells why the form cannot be shown.
	Problem string
	Form    schemaForm
	// MayAnswer follows from the reader's role.
	MayAnswer bool
	Path      string
}

// The keys of a keyset: the inputs of the run that have the schema and the description of what it asks for.
const (
	keySchema      = "schema"
	keyDescription = "description"
)

var questionCalls = []string{orchv1.FlowRunInputService_ReadFlowRunInput_FullMethodName, orchv1.UiSchemaService_ValidateObj_FullMethodName}

// question is what a run asks for, as its inputs have it.
type question struct {
	schema      []byte
	description string
	err         error
}

// asks reports whether a run waits for an input. Other paused runs resume without one.
func asks(run *orchv1.FlowRun) bool {
	return run.GetStateType() == orchv1.StateType_STATE_TYPE_PAUSED && len(run.GetState().GetStateDetails().GetRunInputKeyset().GetValues()) > 0
}

// readQuestion reads what a run asks for.
func readQuestion(r *page.Request, run *orchv1.FlowRun) question {
	keys := run.GetState().GetStateDetails().GetRunInputKeyset().GetValues()
	read := func(key string) *apicall.Unary[*httpbody.HttpBody] {
		return apicall.New[*httpbody.HttpBody](orchv1.FlowRunInputService_ReadFlowRunInput_FullMethodName, apicall.Input{Path: map[string]string{"id": run.GetId(), "key": key}})
	}
	schema, description := read(keys[keySchema]), read(keys[keyDescription])
	calls := []apicall.Call{schema}
	if keys[keyDescription] != "" {
		calls = append(calls, description)
	}
	_ = r.Call(calls...) // A run need not describe what it asks for.
	q := question{schema: schema.Result().GetData(), err: schema.Err()}
	if text := description.Result().GetData(); json.Unmarshal(text, &q.description) != nil {
		q.description = string(text)
	}
	return q
}

// view is the question as the page shows it, with a form for the answer.
func (q question) view(r *page.Request, form schemaForm) *questionView {
	v := &questionView{
		Description: show.Markdown(q.description), Form: form, Path: r.Path(),
		MayAnswer: r.May(orchv1.FlowRunService_ResumeFlowRun_FullMethodName),
	}
	switch {
	case rpc.HTTPError(q.err).GetStatus() == http.StatusNotFound:
		v.Problem = "The run asks for an input, but has stored no schema for it."
	case q.err != nil:
		v.Problem = page.Problem(q.err)
	}
	return v
}

// newQuestionView is the question of a run with the defaults of its schema; nil if the run asks for nothing.
func newQuestionView(r *page.Request, run *orchv1.FlowRun) *questionView {
	if !asks(run) {
		return nil
	}
	q := readQuestion(r, run)
	return q.view(r, newSchemaForm(r, q.schema, jsontree.NewObject()))
}

// pauseEnds words until when a paused run waits; empty for ever.
func pauseEnds(r *page.Request, run *orchv1.FlowRun) string {
	ends := run.GetState().GetStateDetails().GetPauseTimeout()
	if run.GetStateType() != orchv1.StateType_STATE_TYPE_PAUSED || ends == nil {
		return ""
	}
	left := ends.AsTime().Sub(r.Now)
	if left <= 0 {
		return "The time to resume it is over: the run fails."
	}
	if left > time.Minute {
		left = left.Truncate(time.Minute)
	}
	return "It fails unless it is resumed: expires in " + show.Duration(left) + ", at " + clockOf(r).Text(ends.AsTime()) + "."
}

// resumeFlowRun resumes a run with what was typed, if it asks for something.
func resumeFlowRun(r *page.Request) (page.View, error) {
	head, err := readFlowRunHead(r)
	if err != nil {
		return page.View{}, err
	}
	body := apicall.JSON{}
	var filled *questionView
	if asks(head.run) {
		q := readQuestion(r, head.run)
		form := newSchemaForm(r, q.schema, jsontree.NewObject())
		values, ok := form.read(r)
		if ok && q.err == nil {
			ok = form.validate(r, q.schema, values)
		}
		filled = q.view(r, form)
		if !ok {
			return showQuestion(r, filled, "")
		}
		body["run_input"] = rawJSON(jsontree.Text(values))
	}
	result := apicall.New[*orchv1.OrchestrationResult](orchv1.FlowRunService_ResumeFlowRun_FullMethodName, apicall.Input{
		Path: map[string]string{"id": r.Vars["id"]}, Body: body,
	})
	err = r.Call(result)
	problem, err := transitionProblem(result.Result(), err)
	switch {
	case err != nil:
		return page.View{}, err
	case problem == "":
		return r.Done(r.Here(), "resume-run", -1), nil
	}
	return showQuestion(r, filled, problem)
}

// showQuestion shows the run again with the form as it was typed.
func showQuestion(r *page.Request, filled *questionView, problem string) (page.View, error) {
	view, err := showFlowRun(r, "", func(r *page.Request, h flowRunHead, v *flowRunView) error {
		if v.Question != nil && filled != nil {
			v.Question = filled
		}
		return flowRunOverview(r, h, v)
	})
	view.Status = http.StatusUnprocessableEntity
	if problem != "" {
		view.Notices = append(view.Notices, page.Notice{Kind: "bad", Text: problem})
	}
	return view, err
}
