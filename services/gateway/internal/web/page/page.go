package page

import (
	"net/http"
)

// Page is a row of the table of pages.
type Page struct {
	// Pattern is the path below the workspace's prefix, such as "/runs/flow-run/{id}". A variable whose name ends in id
	// matches UUIDs only.
	Pattern string
	// Section is the path of the navigation entry that is current on this page.
	Section string
	// Needs are the rpcs without whose scopes the page is a 403. The page may call them.
	Needs []string
	// Uses are further rpcs that the page may call. It leaves out the panels of those that its reader may not call.
	Uses []string
	// Show answers GET. Exactly one of Show and Serve is set.
	Show func(r *Request) (View, error)
	// Serve answers GET with something else than a page, such as an image or a download.
	Serve func(w http.ResponseWriter, r *Request) error
	// Live is the topic that the page follows, such as "runs" or "flow-run/{id}"; empty for none. See package live.
	Live string
	// Actions answer POST to the page's path; the form field "action" names one.
	Actions []Action
}

// Action is what a form of a page does.
type Action struct {
	// Name is the value of the form field "action".
	Name string
	// Calls are the rpcs that the action makes. Without all their scopes its button is absent and the POST is a 403.
	Calls []string
	// Done is the sentence after success. A %d in it is the number of changed objects.
	Done string
	// Do performs the action. A view with Redirect leads to the next page; any other view is the answer, such as a
	// confirmation or the form with its errors.
	Do func(r *Request) (View, error)
}

// View is what a page shows.
type View struct {
	// Status is the HTTP status; zero means 200.
	Status int
	Title  string
	// Template is the file below templates/pages.
	Template string
	// Data is the variable v of the template: a struct of strings, numbers and markup.Markup.
	Data any
	// Redirect answers with 303 to a path with the workspace's prefix; see Request.To and Request.Done.
	Redirect string
	// Notices are shown above the page.
	Notices []Notice
}

// Notice is a message above a page.
type Notice struct {
	// Kind is "good", "bad" or "info".
	Kind string
	Text string
}

// Section is an entry of the navigation.
type Section struct {
	Path, Title, Icon string
	// Group is the heading under which the entry stands; entries of one group follow each other.
	Group string
	// Outside entries lead to pages that belong to no workspace.
	Outside bool
	// Needs are the rpcs without whose scopes the entry is absent.
	Needs []string
	// WithKeys entries are absent on a server without API keys.
	WithKeys bool
}
