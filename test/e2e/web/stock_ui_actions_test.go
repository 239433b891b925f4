//go:build e2eweb

package web

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// Elements of v2's pages as XPaths.
const (
	menu      = `(//button[normalize-space()="Open menu"])[1]`
	codeField = `(//*[contains(@class, "cm-content")])[1]`
)

func button(title string) string {
	return fmt.Sprintf(`(//button[normalize-space()=%[1]q or @aria-label=%[1]q])[last()]`, title)
}

func menuItem(title string) string {
	return fmt.Sprintf(`//*[@role="menuitem"][normalize-space()=%q]`, title)
}

func inDialog(title string) string {
	return fmt.Sprintf(`//*[@role="dialog" or @role="alertdialog"]//button[normalize-space()=%q]`, title)
}

func field(name string) string { return fmt.Sprintf(`//input[@name=%q]`, name) }

func text(s string) string { return fmt.Sprintf(`(//*[normalize-space(text())=%q])[1]`, s) }

// action is what a user does on a page of v2, and the request to the API by which it happens.
type action struct {
	name    string
	path    string
	steps   []chromedp.Action[chromedp.Void]
	request string
}

// click clicks an element once it is visible.
func click(path string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		if none, err := shown(path)(ctx, target); err != nil {
			return none, fmt.Errorf("wait for %s: %w", path, err)
		}
		none, err := chromedp.Click(path)(ctx, target)
		if err != nil {
			return none, fmt.Errorf("click %s: %w", path, err)
		}
		return none, nil
	}
}

// enter types a text into a field.
func enter(path, value string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		if none, err := click(path)(ctx, target); err != nil {
			return none, err
		}
		return chromedp.KeyEvent(value)(ctx, target)
	}
}

// actionsOfV2 returns the actions, in an order in which each finds what it needs.
func actionsOfV2(s stock) []action {
	type steps = []chromedp.Action[chromedp.Void]
	deployment, run := "/deployments/deployment/"+s.deployment, "/runs/flow-run/"+s.run
	actions := []action{
		{"create a variable", "/variables", steps{
			click(button("Add variable")), enter(field("name"), "made"), enter(codeField, "1"), click(inDialog("Create")), shown(text("made")),
		}, "POST /variables/"},
		{"delete a variable", "/variables", steps{click(menu), click(menuItem("Delete")), click(inDialog("Delete"))}, "DELETE /variables/id"},
		{"create a limit", "/concurrency-limits?tab=global", steps{
			click(button("add global concurrency limit")), enter(field("name"), "made"), enter(field("limit"), "2"), click(inDialog("Save")), shown(text("made")),
		}, "POST /v2/concurrency_limits/"},
		{"delete a limit", "/concurrency-limits?tab=global", steps{click(menu), click(menuItem("Delete")), click(inDialog("Delete"))}, "DELETE /v2/concurrency_limits/id"},
		{"create a limit of a tag", "/concurrency-limits?tab=task-run", steps{
			click(button("add task run concurrency limit")), enter(field("tag"), "made"), enter(field("concurrency_limit"), "2"), click(inDialog("Add")),
		}, "POST /concurrency_limits/"},
		{"run a deployment", deployment, steps{click(button("Run")), click(menuItem("Quick run"))}, "POST /deployments/id/create_flow_run"},
		{"pause a schedule", deployment, steps{click(`//button[@role="switch"][starts-with(@aria-label, "toggle At")]`)}, "PATCH /deployments/id/schedules/id"},
		{"create a schedule", deployment, steps{click(button("Schedule")), click(inDialog("Save"))}, "POST /deployments/id/schedules"},
		{"disable an automation", "/automations", steps{click(button("toggle automation"))}, "PATCH /automations/id"},
		{"delete an automation", "/automations", steps{click(menu), click(menuItem("Delete")), click(inDialog("Delete"))}, "DELETE /automations/id"},
		{"download logs", run, steps{click(button("Download logs"))}, "GET /flow_runs/id/logs/download"},
		{"delete a run", run, steps{click(menu), click(menuItem("Delete")), click(inDialog("Delete"))}, "DELETE /flow_runs/id"},
	}
	for _, title := range []string{
		"AWS Elastic Container Service", "Azure Container Instances", "Docker", "Google Cloud Run", "Google Cloud Run V2", "Google Vertex AI", "Kubernetes", "Process",
	} {
		actions = append(actions, action{"create a pool of " + title, "/work-pools/create", steps{
			click(text(title)), click(button("Next")), enter(field("name"), "made of "+title), click(button("Next")), click(button("Create Work Pool")),
		}, "POST /work_pools/"})
	}
	return actions
}

// TestStockUIActions does with v2 of the web UI in the Python package what its users do, with Orch as its API. It creates a work
// pool of each type. No request to the API may fail.
func TestStockUIActions(t *testing.T) {
	for _, password := range []bool{false, true} {
		t.Run(map[bool]string{false: "open", true: "with a password"}[password], func(t *testing.T) {
			site := newStockSite(t, bundles[1], password)
			for _, a := range actionsOfV2(seedStock(site.seeds)) {
				t.Run(a.name, func(t *testing.T) {
					site.tab(t, a.path, func(tab context.Context, seen *apiObserver) {
						step, cancel := context.WithTimeout(tab, startWait)
						defer cancel()
						err := chromedp.Do(step, a.steps...)
						if err != nil {
							shows, _ := chromedp.Run(tab, chromedp.Evaluate[string](`document.body.innerText`)) // It is for the message alone.
							t.Fatalf("%v; the page shows %s", err, shows)
						}
						require.Eventually(t, func() bool { return seen.has(a.request) }, startWait, poll, "%s was not sent", a.request)
					})
				})
			}
		})
	}
}
