// Package web serves the dashboard: pages rendered on the server, which read without a script.
//
//	request ─▶ session ─▶ Enter (gateway: authentication, workspace) ─▶ table of pages ─▶ Show ─▶ View ─▶ template
//	                                                                                       │
//	                                               apicall ─▶ transcode.Call ─▶ the rpc, with the authorization of REST
//
// # How to add a page
//
// 1. The row. Add a page.Page to the table in package pages: consolePages in console.go has the webhooks, events and
// traces, runPages in runs.go the rest. Pattern is the path below the workspace's prefix; a variable that ends in id
// matches UUIDs. Section is the path of its entry in Sections (table.go). Needs are the rpcs without whose scope the page
// is a 403, and Uses the rpcs of panels that may be absent. A call of an undeclared rpc is an error.
//
// 2. Parameters. The request embeds a param.Reader: r.Window(), r.Older(), r.Rows(), r.Texts("tag"), r.UUIDs("flow"),
// r.Words("state", …). Then return r.Err() if it is not nil: a bad value is a 400 that names its parameter.
//
// 3. Calls. apicall.New[*orchv1.FlowRunList](orchv1.FlowRunService_ReadFlowRuns_FullMethodName,
// apicall.Input{Body: apicall.JSON{…}}) holds the input as REST has it. r.Call(calls…) makes the calls at once, two seconds each, and returns the first error;
// return it if the page is worth nothing without the result, else check call.Err() and show page.Problem(err) in
// the panel. "As API" lists the calls by itself.
//
// 4. View model. A struct of strings, numbers and markup.Markup; no proto message and no time reaches a template. show
// formats times (clockOf(r).Time), states, ids, JSON and links, and chart draws. Only these two packages make markup.
// Links come from r.To("runs", "flow-run", id), and r.Here("older", position) keeps the other parameters.
//
// 5. Template. templates/pages/NAME.html extends "layout.html" and fills the block main. The view model is v, the frame
// site. {{ x }} is escaped; markup is printed as {{ x.HTML }}. The filter safe, style attributes and inline scripts do not
// pass the tests. Reuse parts/: run_table.html, window.html, problems.html. Classes are in static/orch.css.
//
// 6. Actions. Add a page.Action: a name that no other page uses, its rpcs, and the sentence after success. The form posts to
// the page's own path with the fields "action" and session.FormField: {% include "parts/action.html" %} writes
// both. Do makes the calls and returns r.Done(path, "name", count), or a view: a confirmation, or the form with its errors.
// Show a button only if r.May(the action's rpcs…).
//
// 7. Tests. Add a case to pagesUnderTest in golden_test.go: the path, and the answers of the rpcs. It compares the page with
// testdata/NAME.html (go test -update writes it) and checks roles, undeclared calls, inline code and links.
//
// Static files have the hash of all files in their address, so browsers keep them forever. Pages are never cached.
package web
