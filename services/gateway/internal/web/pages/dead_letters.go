package pages

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/param"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// deadLettersRead is the number of dead letters, the oldest first, that the pages read: at most five answers of the API.
const deadLettersRead = 5 * param.MaxRows

// readDeadLetters is the rpc of the pages of dead letters.
const readDeadLetters = orchv1.DeadLetterService_ReadDeadLetters_FullMethodName

// deadLettersPage lists the effects and events that failed permanently, grouped by cause.
func deadLettersPage() page.Page {
	retry, discard := orchv1.DeadLetterService_RetryDeadLetter_FullMethodName, orchv1.DeadLetterService_DiscardDeadLetter_FullMethodName
	return page.Page{
		Pattern: "/dead-letters", Section: "/status", Needs: []string{readDeadLetters}, Show: showDeadLetters,
		Actions: []page.Action{
			{Name: "dead-letters-retry", Calls: []string{readDeadLetters, retry}, Done: "%d dead letters were retried with success.", Do: retryDeadLetters},
			{Name: "dead-letters-discard", Calls: []string{readDeadLetters, discard}, Done: "%d dead letters are discarded.", Do: discardDeadLetters},
		},
	}
}

// deadLetterGroup has the dead letters of one kind with one cause.
type deadLetterGroup struct {
	kind, cause string
	letters     []*orchv1.DeadLetter
}

// last returns the letter that failed last.
func (g *deadLetterGroup) last() *orchv1.DeadLetter {
	return slices.MaxFunc(g.letters, func(a, b *orchv1.DeadLetter) int {
		return a.GetFailed().AsTime().Compare(b.GetFailed().AsTime())
	})
}

// deadLetterGroups reads dead letters and groups them, the largest group first. more reports that others were not read.
func deadLetterGroups(r *page.Request) (groups []*deadLetterGroup, more bool, err error) {
	after := ""
	for read := 0; read < deadLettersRead; read += param.MaxRows {
		query := apicall.JSON{"limit": param.MaxRows}
		if after != "" {
			query["after"] = after
		}
		answer := apicall.New[*orchv1.DeadLetterList](readDeadLetters, apicall.Input{Body: query})
		if err := r.Call(answer); err != nil {
			return nil, false, err
		}
		letters := answer.Result().GetDeadLetters()
		for _, letter := range letters {
			groups = addDeadLetter(groups, letter)
		}
		if more = len(letters) == param.MaxRows; !more {
			break
		}
		after = letters[len(letters)-1].GetId()
	}
	slices.SortStableFunc(groups, func(a, b *deadLetterGroup) int { return cmp.Compare(len(b.letters), len(a.letters)) })
	return groups, more, nil
}

func addDeadLetter(groups []*deadLetterGroup, letter *orchv1.DeadLetter) []*deadLetterGroup {
	cause := causeOf(letter.GetReason())
	i := slices.IndexFunc(groups, func(g *deadLetterGroup) bool { return g.kind == letter.GetKind() && g.cause == cause })
	if i < 0 {
		return append(groups, &deadLetterGroup{letter.GetKind(), cause, []*orchv1.DeadLetter{letter}})
	}
	groups[i].letters = append(groups[i].letters, letter)
	return groups
}

func showDeadLetters(r *page.Request) (page.View, error) {
	groups, more, err := deadLetterGroups(r)
	if err != nil {
		return page.View{}, err
	}
	v := listView{Title: "Dead letters", Intro: "Effects and events that failed permanently. Each waits here until somebody retries or discards it.", Table: table{
		Columns: []string{"Kind", "Reason", "Dead letters", "Blocked documents", "Last failure", ""}, Empty: "No dead letter: every effect and event was processed.",
	}}
	if more {
		v.Problems = []string{"These are the oldest " + show.Count(deadLettersRead) + ". Retry or discard them to see the others."}
	}
	for _, g := range groups {
		last, blocking := g.last(), int64(0)
		for _, letter := range g.letters {
			if letter.GetBlocking() {
				blocking++
			}
		}
		fields := []hiddenField{{"kind", g.kind}, {"cause", g.cause}}
		actions := cell{}
		if r.May(orchv1.DeadLetterService_RetryDeadLetter_FullMethodName) {
			actions.Buttons = append(actions.Buttons, button{Action: "dead-letters-retry", Title: "Retry", Fields: fields})
		}
		if r.May(orchv1.DeadLetterService_DiscardDeadLetter_FullMethodName) {
			actions.Buttons = append(actions.Buttons, button{Action: "dead-letters-discard", Title: "Discard", Class: "danger", Fields: fields})
		}
		v.Table.add(text(g.kind), text(last.GetReason()), count(int64(len(g.letters))), count(blocking), timeCell(r, last.GetFailed()), actions)
	}
	return page.View{Title: v.Title, Template: "list.html", Data: v}, nil
}

// postedDeadLetters returns the oldest letters of the group that a form names, as many as one form changes. It is empty if none is left.
func postedDeadLetters(r *page.Request) (*deadLetterGroup, error) {
	groups, _, err := deadLetterGroups(r)
	if err != nil {
		return nil, err
	}
	posted := &deadLetterGroup{kind: r.Form.Get("kind"), cause: r.Form.Get("cause")}
	for _, g := range groups {
		if g.kind == posted.kind && g.cause == posted.cause {
			posted.letters = g.letters[:min(len(g.letters), param.MaxRows)]
		}
	}
	return posted, nil
}

// changeDeadLetters calls an rpc for each letter of a group, and returns the number that succeeded and the last refusal. A letter that is
// gone was retried or discarded by somebody else.
func changeDeadLetters(r *page.Request, rpcName string, g *deadLetterGroup) (succeeded int, refusal string, err error) {
	for _, letter := range g.letters {
		err := r.Call(changed(rpcName, apicall.Input{Path: map[string]string{"id": letter.GetId()}}))
		if err == nil {
			succeeded++
			continue
		}
		switch rpc.HTTPError(err).GetStatus() {
		case http.StatusNotFound:
		case http.StatusConflict:
			refusal = page.Problem(err)
		default:
			return succeeded, refusal, err
		}
	}
	return succeeded, refusal, nil
}

func retryDeadLetters(r *page.Request) (page.View, error) {
	g, err := postedDeadLetters(r)
	if err != nil {
		return page.View{}, err
	}
	succeeded, refusal, err := changeDeadLetters(r, orchv1.DeadLetterService_RetryDeadLetter_FullMethodName, g)
	if err != nil {
		return page.View{}, err
	}
	if refusal == "" {
		return r.Done(r.Path(), "dead-letters-retry", succeeded), nil
	}
	view, err := showDeadLetters(r)
	view.Status = http.StatusConflict
	view.Notices = append(view.Notices, page.Notice{
		Kind: "bad", Text: show.Count(int64(succeeded)) + " of " + show.Plural(int64(len(g.letters)), "dead letter", "dead letters") + " succeeded. The last refusal: " + refusal,
	})
	return view, err
}

func discardDeadLetters(r *page.Request) (page.View, error) {
	g, err := postedDeadLetters(r)
	if err != nil {
		return page.View{}, err
	}
	many := show.Plural(int64(len(g.letters)), "dead letter", "dead letters")
	if !confirmed(r) {
		return confirm(r, confirmView{
			Title: "Discard " + many + "?", Action: "dead-letters-discard", Button: "Discard " + many, Back: r.Path(),
			Text:   "Their effects and events are lost. Documents that they block go on.",
			Fields: []hiddenField{{"kind", g.kind}, {"cause", g.cause}},
		}), nil
	}
	succeeded, refusal, err := changeDeadLetters(r, orchv1.DeadLetterService_DiscardDeadLetter_FullMethodName, g)
	if err != nil {
		return page.View{}, err
	}
	if refusal != "" {
		return page.View{}, rpc.Detail(http.StatusConflict, refusal)
	}
	return r.Done(r.Path(), "dead-letters-discard", succeeded), nil
}
