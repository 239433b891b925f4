//go:build e2eweb

package web

import (
	"fmt"
	"net/http"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// traceback is the log of a failure in a user's own code.
const traceback = `Task run encountered an exception
Traceback (most recent call last):
  File "/usr/lib/python3.12/site-packages/prefect/task_engine.py", line 800, in run
    return call()
  File "/app/orders.py", line 12, in load
    rows[key]
KeyError: 'amount'`

// run creates a flow run of a deployment in a state.
func (e *scenarios) run(deployment, name string, state object) string {
	e.t.Helper()
	id := e.post("/deployments/"+e.ids[deployment]+"/create_flow_run", object{"name": name, "state": object{"type": "SCHEDULED"}})
	e.ids[name] = id
	e.set(id, state)
	return id
}

func (e *scenarios) set(run string, state object) {
	e.t.Helper()
	e.post("/flow_runs/"+run+"/set_state", object{"state": state, "force": true})
}

// hook creates a webhook and returns its address.
func (e *scenarios) hook(name, template string) string {
	e.t.Helper()
	var made struct{ ID, URL string }
	require.Equal(e.t, http.StatusCreated, call(e.t, http.MethodPost, e.api+"/webhooks/", object{"name": name, "template": template}, &made))
	e.ids[name], e.hooks[name] = made.ID, made.URL
	return made.URL
}

// posts sends a body to a webhook until it is answered with a status.
func (e *scenarios) posts(webhook string, body object, status int) {
	e.t.Helper()
	require.Eventually(e.t, func() bool { return call(e.t, http.MethodPost, e.hooks[webhook], body, nil) == status }, startWait, poll)
}

func (e *scenarios) automation(name string, trigger object, actions ...object) {
	e.t.Helper()
	e.ids[name] = e.post("/automations/", object{"name": name, "trigger": trigger, "actions": actions})
}

func reactive(names ...string) object {
	return object{"type": "event", "posture": "Reactive", "expect": names, "threshold": 1, "within": 0}
}

// seedScenarios creates the objects that the scenarios need.
func seedScenarios(e *scenarios) {
	e.t.Helper()
	flow := e.post("/flows/", object{"name": "etl"})
	e.post("/work_pools/", object{"name": "local", "type": "process"})
	e.post("/work_pools/local/queues", object{"name": "urgent"})
	for name, fields := range map[string]object{
		"nightly": {"schedules": []object{{"slug": "hourly", "schedule": object{"cron": "0 * * * *", "timezone": "UTC"}}}},
		"overdue": {}, "release": {}, "pushed": {},
	} {
		fields["name"], fields["flow_id"], fields["work_pool_name"] = name, flow, "local"
		fields["parameter_openapi_schema"] = object{"type": "object", "properties": object{"limit": object{"type": "integer", "title": "limit"}}}
		e.ids[name] = e.post("/deployments/", fields)
	}
	for _, name := range []string{"late-one", "late-two"} {
		e.run("overdue", name, object{"type": "SCHEDULED", "name": "Late", "state_details": object{"scheduled_time": time.Now().Add(-10 * time.Minute).UTC()}})
	}
	e.set(e.run("nightly", "completed-one", object{"type": "RUNNING", "name": "Running"}), object{"type": "COMPLETED", "name": "Completed"})
	broken := e.run("nightly", "broken", object{"type": "RUNNING", "name": "Running"})
	concurrently(manyTasks-1, func(i int) {
		e.post("/task_runs/", object{
			"flow_run_id": broken, "task_key": "load", "dynamic_key": fmt.Sprint(i), "name": fmt.Sprintf("load-%d", i), "state": object{"type": "COMPLETED", "name": "Completed"},
		})
	})
	task := e.post("/task_runs/", object{
		"flow_run_id": broken, "task_key": "load", "dynamic_key": "1999", "name": "load-1999", "state": object{"type": "FAILED", "name": "Failed", "message": "KeyError: 'amount'"},
	})
	e.post("/logs/", []object{{
		"name": "prefect.task_runs", "level": 40, "message": traceback, "timestamp": time.Now().UTC().Format(time.RFC3339Nano), "flow_run_id": broken, "task_run_id": task,
	}})
	e.set(broken, object{"type": "FAILED", "name": "Failed", "message": "Flow run encountered an exception: KeyError: 'amount'"})
	e.pause(e.run("release", "waiting", object{"type": "RUNNING", "name": "Running"}))
	e.pause(e.run("release", "waiting-too", object{"type": "RUNNING", "name": "Running"}))
	e.post("/artifacts/", object{"key": "report", "type": "markdown", "data": "# First", "flow_run_id": broken})
	e.post("/artifacts/", object{"key": "report", "type": "markdown", "data": "# Second", "flow_run_id": broken})
	e.automation("quiet", reactive("nothing.comes"), object{"type": "do-nothing"})
	e.automation("mails", reactive("boom"), object{"type": "send-email-notification", "emails": []string{"ops@example.com"}, "subject": "s", "body": "b"})
	e.automation("on push", reactive("push"), object{"type": "run-deployment", "source": "selected", "deployment_id": e.ids["pushed"]})
	e.hook("broken-hook", `{"event": "order", "resource": {"prefect.resource.id": "order"}, "payload": {"text": "{{ body.text }}"}}`)
	for i := range 6 {
		require.Eventually(e.t, func() bool { return deliver(e.t, e.hooks["broken-hook"], i) == http.StatusBadRequest }, startWait, poll)
	}
	e.hook("pushes", `{"event": "push", "resource": {"prefect.resource.id": "repo"}}`)
	e.posts("pushes", object{"text": "x"}, http.StatusNoContent)
	e.hook("bombs", `{"event": "boom", "resource": {"prefect.resource.id": "bomb"}}`)
	e.posts("bombs", object{"text": "x"}, http.StatusNoContent)
	logged(e.t, e.api, e.ids["broken-hook"], 6)
	require.Eventually(e.t, func() bool {
		var letters []object
		return call(e.t, http.MethodPost, e.api+"/admin/dead_letters/filter", object{}, &letters) == http.StatusOK && len(letters) > 0
	}, startWait, poll)
}

// pause lets a run wait for an input.
func (e *scenarios) pause(run string) {
	e.t.Helper()
	for key, value := range map[string]string{
		"schema": `{"type": "object", "required": ["ticket"], "properties": {"ticket": {"type": "string", "title": "Ticket"}}}`, "description": `"Release?"`,
	} {
		e.post("/flow_runs/"+run+"/input", object{"key": "paused-1-" + key, "value": value})
	}
	e.set(run, object{"type": "PAUSED", "name": "Paused", "state_details": object{
		"pause_timeout": time.Now().Add(time.Hour).UTC(), "pause_key": "1",
		"run_input_keyset": object{"schema": "paused-1-schema", "description": "paused-1-description", "response": "paused-1-response"},
	}})
}

// link selects a link of the main part that has exactly a text.
func link(text string) string { return `(//main//a[normalize-space(.)="` + text + `"])[1]` }

func openScenarios(e *scenarios) []scenario {
	seedScenarios(e)
	brokenRun := func(p *person) { p.follows(`//*[@id="failures"]//a[normalize-space(.)="broken"]`) }
	deployment := func(p *person, name string) {
		p.opens("Deployments")
		p.follows(link(name))
	}
	return []scenario{
		{ // First: the list of events shows the latest.
			"follow a delivery to its run and the log", 3,
			func(p *person, _ *scenarios) {
				p.opens("Events")
				p.follows(`(//main//a[normalize-space(.)="push"])[1]`)
				p.presses("Trace")
				p.reads("Delivery")
				p.reads("Flow run")
			},
			[][]string{{"webhook", "trace", "pushes"}}, "flow run",
		},
		{
			"why the newest failed run failed", 1,
			func(p *person, _ *scenarios) { brokenRun(p); p.reads("orders.py") },
			[][]string{{"flow-run", "logs"}}, "orders.py",
		},
		{
			"which of 2,000 tasks failed, and its log", 3,
			func(p *person, _ *scenarios) {
				brokenRun(p)
				p.follows(`//main//*[contains(@class, "cause")]//a[normalize-space(.)="load-1999"]`)
				p.presses("Logs")
				p.reads("KeyError: 'amount'")
			},
			[][]string{{"flow-run", "logs", "broken", "--failed"}}, "load-1999",
		},
		{
			"retry it", 2,
			func(p *person, _ *scenarios) {
				brokenRun(p)
				p.presses("Retry")
				p.reads("The run is scheduled again.")
			},
			[][]string{{"flow-run", "cancel", "broken"}, {"flow-run", "retry", "broken"}}, "broken",
		},
		{
			"run a deployment with other parameters", 4 + 1,
			func(p *person, _ *scenarios) {
				deployment(p, "nightly")
				p.presses("Run")
				p.types("p.limit", "3")
				p.presses("Run")
				p.reads("The run is scheduled.")
			},
			[][]string{{"deployment", "run", "nightly", "--param", "limit=3"}}, "nightly",
		},
		{
			"the same in two hours with a tag", 5 + 3,
			func(p *person, _ *scenarios) {
				deployment(p, "nightly")
				p.presses("Run")
				p.types("p.limit", "3")
				p.unfolds("Name, tags and start")
				p.types("tags", "again")
				p.types("start", time.Now().UTC().Add(2*time.Hour).Format("2006-01-02T15:04"))
				p.presses("Run")
				p.reads("The run is scheduled.")
			},
			[][]string{{"deployment", "run", "nightly", "--param", "limit=3", "--in", "2h", "--tag", "again"}}, "nightly",
		},
		{
			"answer a run that waits", 2 + 1,
			func(p *person, _ *scenarios) {
				p.follows(`(//*[@id="attention"]//a[normalize-space(.)="Answer"])[1]`)
				p.types("p.ticket", "T-1")
				p.presses("Resume with this answer")
				p.reads("The run resumes.")
			},
			[][]string{{"flow-run", "resume", "waiting-too", "--input", "ticket=T-1"}}, "waiting-too",
		},
		{
			"whether pools are alive, and what waits", 0,
			func(p *person, _ *scenarios) { p.reads("Alive"); p.reads("runs are late") },
			[][]string{{"work-pool", "ls"}}, "local",
		},
		{
			"cancel the late runs of a deployment", 4,
			func(p *person, _ *scenarios) {
				p.follows(`//*[@id="tiles"]//a[contains(., "Late")]`)
				p.submits("deployment", "overdue")
				p.presses("Cancel all…")
				p.presses("Cancel 2")
				p.reads("Finished.")
			},
			[][]string{{"flow-run", "cancel", "--late", "overdue", "--yes"}}, "Cancelled 0 late runs",
		},
		{
			"find a run by a part of its name", 2,
			func(p *person, _ *scenarios) {
				p.searches("completed")
				p.follows(link("completed-one"))
				p.do("the run", shown(`//main//h1[contains(., "completed-one")]`))
			},
			[][]string{{"flow-run", "ls", "--name", "completed"}}, "completed-one",
		},
		{
			"pause a schedule", 3,
			func(p *person, _ *scenarios) {
				deployment(p, "nightly")
				p.presses("Deactivate")
				p.reads("The schedule is changed.")
			},
			nil, "",
		},
		{
			"switch the schedule on again", 3,
			func(p *person, _ *scenarios) {
				deployment(p, "nightly")
				p.presses("Activate")
				p.reads("The schedule is changed.")
			},
			[][]string{{"schedule", "disable", "nightly/hourly"}, {"schedule", "enable", "nightly/hourly"}}, "0 * * * *",
		},
		{
			"change a schedule to weekdays at 06:00 in Rome", 6,
			func(p *person, _ *scenarios) {
				deployment(p, "nightly")
				p.follows(`(//main//a[contains(., "0 * * * *")])[1]`)
				p.types("rule", "0 6 * * 1-5")
				p.submits("timezone", "Europe/Rome")
				p.reads("0 6 * * 1-5 Europe/Rome")
			},
			[][]string{{"schedule", "next", "0 6 * * 1-5", "--timezone", "Europe/Rome"}, {"schedule", "update", "nightly/hourly", "--cron", "0 6 * * 1-5", "--timezone", "Europe/Rome"}}, "0 6 * * 1-5",
		},
		{
			"let two runs of a deployment run at a time", 4,
			func(p *person, _ *scenarios) {
				deployment(p, "nightly")
				p.unfolds("Settings")
				p.submits("concurrency_limit", "2")
				p.reads("The deployment is changed.")
			},
			[][]string{{"deployment", "update", "nightly", "--concurrency-limit", "2", "--collision-strategy", "ENQUEUE"}}, "nightly",
		},
		{
			"make a work pool and get the line of its worker", 4,
			func(p *person, _ *scenarios) {
				p.opens("Work pools")
				p.types("name", "fresh")
				p.chooses("type", "process")
				p.presses("Create the work pool")
				p.reads("prefect worker start --pool 'fresh'")
			},
			[][]string{{"work-pool", "create", "second", "--type", "process"}}, "prefect worker start --pool 'second'",
		},
		{
			"give a queue precedence", 4,
			func(p *person, _ *scenarios) {
				p.opens("Work pools")
				p.follows(link("local"))
				p.follows(link("urgent"))
				p.submits("priority", "1")
				p.reads("The work queue is changed.")
			},
			[][]string{{"work-queue", "update", "local/urgent", "--priority", "1"}}, "urgent",
		},
		{
			"make a variable and change it", 5,
			func(p *person, _ *scenarios) {
				p.opens("Variables")
				p.types("value", "eu")
				p.submits("name", "region")
				p.types("value", "us")
				p.presses("Save the variable")
				p.reads("The variable is changed.")
			},
			[][]string{{"variable", "create", "zone", "--value", "a"}, {"variable", "update", "zone", "--value", "b"}, {"variable", "inspect", "zone"}}, "Updated",
		},
		{
			"make a limit of three slots and see its holders", 5,
			func(p *person, _ *scenarios) {
				p.opens("Limits")
				p.types("limit", "3")
				p.submits("name", "database")
				p.reads("0 of 3")
			},
			[][]string{{"limit", "create", "cache", "--limit", "3"}, {"limit", "slots", "cache"}}, "",
		},
		{
			"why an automation did not fire", 3,
			func(p *person, _ *scenarios) {
				p.opens("Automations")
				p.follows(link("quiet"))
				p.presses("Try with past events")
				p.reads("What it would have done")
			},
			[][]string{{"automation", "test", "quiet"}}, "",
		},
		{
			"make a webhook for GitHub with its secret", 5,
			func(p *person, e *scenarios) {
				p.opens("Webhooks")
				p.presses("New webhook")
				p.submitsChoice("preset", "GitHub")
				p.types("secrets", "correct-horse-battery")
				p.presses("Create the webhook")
				p.reads("webhook is created")
			},
			[][]string{{"webhook", "create", "commits", "--preset", "github", "--secret", "correct-horse-battery"}, {"webhook", "deliveries", "commits"}}, "",
		},
		{
			"the versions of an artifact", 3,
			func(p *person, _ *scenarios) {
				p.opens("Artifacts")
				p.follows(link("report"))
				p.reads("Versions")
			},
			[][]string{{"artifact", "ls", "--key", "report"}}, "report",
		},
		{
			"retry the dead letters of a cause", 4,
			func(p *person, _ *scenarios) {
				p.follows(`//*[@id="attention"]//a[normalize-space(.)="Decide"]`)
				p.presses("Retry")
			},
			[][]string{{"dead-letter", "ls"}}, "",
		},
		{
			"copy the calls of a page as curl", 2,
			func(p *person, _ *scenarios) {
				p.actions++
				p.do("as API", chromedp.Click(`//main//details[contains(@class, "api")]/summary`), shown(`(//main//code[starts-with(., "curl ")])[1]`))
			},
			[][]string{{"flow-run", "ls", "--curl"}}, "curl '",
		},
	}
}
