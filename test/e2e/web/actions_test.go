//go:build e2eweb

package web

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/test/e2e"
)

// person uses the dashboard in a browser as a person does: by what is visible.
type person struct {
	t       *testing.T
	browser context.Context
	seen    *observer
	root    string
	// actions counts the clicks, and the fields that the person fills; Enter belongs to its field.
	actions int
}

func newPerson(t *testing.T, root string) *person {
	t.Helper()
	browser, seen := open(t, root, 6*time.Minute)
	return &person{t: t, browser: browser, seen: seen, root: root}
}

func (p *person) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	step, cancel := context.WithTimeout(p.browser, startWait)
	defer cancel()
	if err := chromedp.Do(step, actions...); err != nil {
		p.fails(what, err)
	}
}

// fails ends the test with what the page shows.
func (p *person) fails(what string, err error) {
	p.t.Helper()
	shows, _ := chromedp.Run(p.browser, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText`)) // It is for the message alone.
	p.t.Fatalf("%s: %v; the page shows %s", what, err, shows)
}

// visits opens a page of the server.
func (p *person) visits(path string) {
	p.t.Helper()
	p.do("open "+path, chromedp.Navigate(p.root+path), chromedp.WaitReady("main"))
}

// control selects the button, link or summary with a text, in the main part of the page.
func control(title string) string {
	return `(//main//*[self::button or self::a or self::summary][not(@hidden)][normalize-space(.)="` + title + `"])[1]`
}

// presses clicks the button or link with a text, which leads to another page.
func (p *person) presses(title string) {
	p.t.Helper()
	p.follows(control(title))
}

// follows clicks the link or button that an XPath selects, which leads to another page.
func (p *person) follows(path string) {
	p.t.Helper()
	p.actions++
	p.leaves("press "+path, chromedp.Click(path))
}

// unfolds clicks the summary with a text.
func (p *person) unfolds(title string) {
	p.t.Helper()
	p.actions++
	p.do("unfold "+title, chromedp.Click(control(title)))
}

// leaves acts, and waits until another page is complete. Without this, the next step could find its control on the page before.
func (p *person) leaves(what string, act chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	_, err := chromedp.Run(p.browser, chromedp.Evaluate[bool](`window.left = true`))
	require.NoError(p.t, err, what)
	checks := time.NewTicker(poll)
	defer checks.Stop()
	for n := range int(startWait / poll) {
		if n%100 == 0 { // A live part that is replaced meanwhile can move the control.
			p.do(what, act)
		}
		<-checks.C
		next, err := chromedp.Run(p.browser, chromedp.Evaluate[bool](`!window.left && document.readyState === "complete"`))
		if err == nil && next {
			return
		}
	}
	p.fails(what, context.DeadlineExceeded)
}

// types replaces the value of a field.
func (p *person) types(name, value string) {
	p.t.Helper()
	p.actions++
	p.do("type into "+name, chromedp.SetValue(`(//main//*[@name="`+name+`"][not(@type="hidden")])[1]`, value))
}

// chooses selects the option of a field that begins with a text.
func (p *person) chooses(name, text string) {
	p.t.Helper()
	p.actions++
	chosen, err := chromedp.Run(p.browser, chromedp.Evaluate[bool](`(() => {
		const option = [...document.querySelector("main select[name='`+name+`']").options].find((o) => o.text.startsWith("`+text+`"));
		if (option) option.selected = true;
		return !!option;
	})()`))
	require.NoError(p.t, err)
	require.True(p.t, chosen, "%s has no option %q", name, text)
}

// ticks changes the checkbox that an XPath selects.
func (p *person) ticks(path string) {
	p.t.Helper()
	p.actions++
	p.do("tick "+path, chromedp.Click(path))
}

// reads waits until the page shows a text.
func (p *person) reads(text string) {
	p.t.Helper()
	p.do("read "+text, shown(`(//main//*[text()[contains(., "`+text+`")]])[1]`))
}

// findsNoProblem fails if a page reported a problem so far.
func (p *person) findsNoProblem() {
	p.t.Helper()
	problems, _ := p.seen.take()
	require.Empty(p.t, problems)
}

// TestEveryActionOfRuns clicks the actions on runs, deployments, work pools, automations and views, with and without scripts.
func TestEveryActionOfRuns(t *testing.T) {
	for name, start := range map[string]func(testing.TB, e2e.Programs, string, ...string) *e2e.Orch{"single": e2e.StartSingle, "three": e2e.StartThree} {
		t.Run(name, func(t *testing.T) {
			o := start(t, programs, t.TempDir())
			for _, scripts := range []bool{true, false} {
				name := map[bool]string{true: "scripts", false: "plain"}[scripts]
				t.Run(name, func(t *testing.T) { actionsOfRuns(t, o, name, scripts) })
			}
		})
	}
}

func actionsOfRuns(t *testing.T, o *e2e.Orch, name string, scripts bool) {
	s := seeder{t, o.API()}
	flow := s.post("/flows/", object{"name": "actions " + name})
	s.post("/work_pools/", object{"name": "pool-" + name, "type": "process"})
	deployment := s.post("/deployments/", object{
		"name": "nightly " + name, "flow_id": flow, "work_pool_name": "pool-" + name,
		"schedules":                []object{{"schedule": object{"cron": "0 2 * * *", "timezone": "UTC"}}},
		"parameter_openapi_schema": object{"type": "object", "required": []string{"limit"}, "properties": object{"limit": object{"type": "integer", "title": "limit"}}},
	})
	run := func(title, state string) string {
		return s.post("/flow_runs/", object{"flow_id": flow, "deployment_id": deployment, "name": title + "-" + name, "state": object{"type": state}})
	}
	failed, running := run("failed", "FAILED"), run("running", "RUNNING")
	run("first", "RUNNING")
	run("second", "RUNNING")
	p := newPerson(t, o.URL)
	_, err := chromedp.Call(p.browser, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !scripts})
	require.NoError(t, err)

	logsOfAttempts(p, s, run("twice", "PENDING"))

	p.visits("/runs/flow-run/" + failed)
	p.presses("Retry")
	p.reads("The run is scheduled again.")
	p.presses("Run again")
	p.types("p.limit", "ten")
	p.presses("Run")
	p.do("the field is marked", shown(`//main//*[@name="p.limit"][@aria-invalid="true"]`))
	p.types("p.limit", "3")
	p.presses("Run")
	p.reads("The run is scheduled.")
	p.presses("Cancel")
	p.do("the run is cancelled", shown(`//*[@id="head"]//*[contains(@class, "s-cancel")]`))

	p.visits("/runs/flow-run/" + running)
	p.presses("Pause")
	p.reads("The run pauses after its current task.")
	p.presses("Resume")
	p.reads("The run resumes.")
	p.unfolds("Set the state")
	p.types("state", "COMPLETED")
	p.types("message", "by hand")
	p.ticks(`//main//input[@name="force"]`)
	p.presses("Set")
	p.reads("The state is set.")
	p.reads("by hand")
	p.presses("States")
	p.presses("as at this time")
	p.reads("as it was at")
	p.visits("/runs/flow-run/" + running)
	p.presses("Delete")
	p.reads("Delete the run?")
	p.presses("Delete")
	p.reads("The run is deleted.")

	p.visits("/runs?flow=" + flow)
	p.unfolds("State: all")
	p.ticks(`//main//input[@name="state"][@value="FAILED"]`)
	p.ticks(`//main//input[@name="state"][@value="RUNNING"]`)
	p.presses("Filter")
	p.unfolds("State: Running, Failed")
	p.visits("/runs?state=RUNNING&flow=" + flow)
	p.ticks(`(//main//tbody//input[@name="id"])[1]`)
	p.presses("Cancel")
	p.reads("Cancel 1 run?")
	p.presses("Cancel")
	p.reads("1 run is being cancelled")
	p.presses("Cancel all…")
	p.reads("Cancel 1 run?")
	p.presses("Cancel 1")
	p.reads("Finished.")
	p.visits("/runs?flow=" + flow)
	p.unfolds("Views")
	p.types("view", "view "+name)
	p.presses("Save this view")
	p.reads("The view is saved.")
	p.unfolds("Views")
	p.leaves("delete the view", chromedp.Click(`//main//button[@aria-label="Delete the view view `+name+`"]`))
	p.presses("Delete the view")
	p.reads("The view is deleted.")
	p.visits("/runs?state=CANCELLED&state=CANCELLING&flow=" + flow)
	p.presses("Delete all…")
	p.leaves("confirm", chromedp.Click(`//main//form//button[contains(., "Delete")]`))
	p.reads("Finished.")

	p.visits("/deployments/deployment/" + deployment)
	p.presses("Deactivate")
	p.reads("The schedule is changed.")
	p.reads("inactive")
	p.presses("Activate")
	p.reads("The schedule is changed.")
	p.presses("Pause")
	p.reads("The deployment is paused")
	p.presses("Resume")
	p.reads("The deployment is active again.")
	p.presses("Delete")
	p.presses("Delete")
	p.reads("The deployment is deleted.")

	p.visits("/work-pools/work-pool/pool-" + name)
	p.presses("Pause")
	p.reads("The work pool is paused")
	p.presses("Resume")
	p.reads("The work pool is active again.")

	p.visits("/automations/new?event=x.y")
	p.presses("Show as JSON")
	p.types("json", "[")
	p.presses("Create the automation")
	p.reads("The automation is not a JSON object")
	p.visits("/automations/new?event=x.y")
	p.presses("Try with past events")
	p.reads("it would have fired")
	p.presses("Create the automation")
	p.reads("The automation is created.")
	p.presses("Disable")
	p.reads("The automation is disabled.")
	p.presses("Enable")
	p.reads("The automation is enabled.")
	p.presses("Edit")
	p.presses("Save the automation")
	p.reads("The automation is saved.")
	p.presses("Delete")
	p.presses("Delete the automation")
	p.reads("The automation is deleted.")
	p.seen.take() // Chromium logs the 422 of the forms that were refused.
}

// logsOfAttempts runs a flow run twice with a line of each attempt, and filters its log by attempt and logger.
func logsOfAttempts(p *person, s seeder, run string) {
	p.t.Helper()
	set := func(state string) {
		s.post("/flow_runs/"+run+"/set_state", object{"state": object{"type": state}, "force": true})
	}
	log := func(logger, line string) {
		s.post("/logs/", []object{{"name": logger, "level": 20, "message": line, "timestamp": time.Now().UTC().Format(time.RFC3339Nano), "flow_run_id": run}})
	}
	set("RUNNING")
	log("one", "of the first attempt")
	set("FAILED")
	set("RUNNING")
	log("two", "of the second attempt")
	set("COMPLETED")
	without := func(text string) {
		p.t.Helper()
		p.do("no "+text, chromedp.WaitNotPresent(`//main//li[contains(., "`+text+`")]`))
	}
	p.visits("/runs/flow-run/" + run + "/logs?attempt=1")
	p.reads("of the first attempt")
	without("of the second attempt")
	p.visits("/runs/flow-run/" + run + "/logs?logger=two&attempt=2")
	p.reads("of the second attempt")
	without("of the first attempt")
	p.do("the choices are kept", chromedp.WaitReady(`//main//select[@name="logger"]/option[@selected][.="two"]`), chromedp.WaitReady(`//main//select[@name="attempt"]/option[@selected][.="2"]`))
}

// TestEveryActionOfWebhooks clicks the actions on webhooks that the console's journeys do not.
func TestEveryActionOfWebhooks(t *testing.T) {
	o := e2e.StartSingle(t, programs, t.TempDir())
	id, _ := webhookWith(t, o.API(), brokenTemplate)
	p := newPerson(t, o.URL)
	p.visits("/webhooks")
	p.leaves("disable", chromedp.Click(`//main//button[starts-with(@aria-label, "Disable")]`))
	p.reads("The webhook is changed.")
	p.visits("/webhooks/webhook/" + id)
	p.presses("Enable")
	p.reads("The webhook is changed.")
	p.presses("Rotate…")
	p.presses("Rotate the address")
	p.reads("The webhook has a new address.")
	p.presses("Settings")
	p.types("name", "renamed")
	p.types("scheme", "sns")
	p.types("topics", "arn:aws:sns:eu-west-1:123456789012:orders")
	p.types("silence", "3600")
	p.presses("Save the settings")
	p.reads("The settings are saved.")
	p.reads("arn:aws:sns:eu-west-1:123456789012:orders")
	p.presses("Settings")
	p.types("silence", "1")
	p.presses("Save the settings")
	p.do("the field is marked", shown(`//main//*[@name="silence"][@aria-invalid="true"]`))
	p.seen.take() // Chromium logs the 422.
	p.visits("/webhooks/webhook/" + id)
	p.ticks(`(//main//tbody//input[@name="id"])[1]`)
	p.presses("Replay the selected")
	p.presses("Replay")
	p.reads("1 of 1 replayed")
	p.visits("/webhooks/webhook/" + id + "?status=failed")
	p.leaves("open a delivery", chromedp.Click(`(//*[@id="deliveries"]//tbody//a)[1]`))
	p.visits("/webhooks/webhook/" + id)
	p.presses("Delete…")
	p.presses("Delete the webhook")
	p.reads("The webhook is deleted.")
	p.findsNoProblem()
	require.Equal(t, http.StatusNotFound, call(t, http.MethodGet, o.API()+"/webhooks/"+id, nil, nil))
}
