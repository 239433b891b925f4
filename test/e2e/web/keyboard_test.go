//go:build e2eweb

package web

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/test/e2e"
)

// focused describes the focused element: its name, and whether its focus is visible.
const focused = `(() => {
	const e = document.activeElement, style = getComputedStyle(e);
	const box = e.getBoundingClientRect();
	return { name: (e.getAttribute("aria-label") || e.textContent || e.name || "").trim(), tag: e.tagName, visible: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 && box.width > 0 };
})()`

type focusedElement struct {
	Name    string `json:"name"`
	Tag     string `json:"tag"`
	Visible bool   `json:"visible"`
}

// keys presses keys.
func (p *person) keys(keys string) {
	p.t.Helper()
	p.do("keys", chromedp.KeyEvent(keys))
}

// leavesBy presses keys that lead to another page.
func (p *person) leavesBy(keys string) {
	p.t.Helper()
	p.leaves("press keys", chromedp.KeyEvent(keys))
}

// tabsTo presses Tab until an element with a name has the focus. Every element on the way shows its focus.
func (p *person) tabsTo(name string) {
	p.t.Helper()
	for range 200 {
		p.keys(kb.Tab)
		e, err := chromedp.Run(p.browser, chromedp.Evaluate[focusedElement](focused))
		require.NoError(p.t, err)
		if e.Tag == "BODY" {
			continue // The end of the page.
		}
		require.True(p.t, e.Visible, "%s %q has the focus, and does not show it", e.Tag, e.Name)
		if e.Name == name {
			return
		}
	}
	p.t.Fatalf("no Tab leads to %q", name)
}

// TestKeyboardAlone filters runs, cancels one of them and creates an automation without a pointer.
func TestKeyboardAlone(t *testing.T) {
	o := e2e.StartSingle(t, programs, t.TempDir())
	s := seeder{t, o.API()}
	flow := s.post("/flows/", object{"name": "keys"})
	for _, name := range []string{"wanted", "other"} {
		s.post("/flow_runs/", object{"flow_id": flow, "name": name, "state": object{"type": "RUNNING"}})
	}
	p := newPerson(t, o.URL)
	p.visits("/")
	p.tabsTo("Skip to content")
	p.keys(kb.Enter)
	p.do("the content", chromedp.WaitReady(chromedp.CSS("main:focus")))
	p.keys("g")
	p.leavesBy("r")
	p.do("the runs", shown(`//main//h1[.="Runs"]`))
	p.keys("/")
	p.keys(kb.Backspace + "wanted") // The protocol sends the character of a key even if the page takes the key.
	p.leavesBy(kb.Enter)
	p.do("the filter", shown(`//main//a[.="Clear"]`), shown(`//main//tr//a[.="wanted"]`), chromedp.WaitNotPresent(`//main//tr//a[.="other"]`))
	p.tabsTo("Select wanted")
	p.keys(" ")
	p.tabsTo("Cancel")
	p.leavesBy(kb.Enter)
	p.reads("Cancel 1 run?")
	p.tabsTo("Cancel")
	p.leavesBy(kb.Enter)
	p.reads("1 run is being cancelled")
	p.keys("g")
	p.leavesBy("a")
	p.do("the automations", shown(`//main//h1[.="Automations"]`))
	p.tabsTo("New automation")
	p.leavesBy(kb.Enter)
	p.do("the form", shown(`//main//h1[.="New automation"]`))
	p.tabsTo("A run takes long")
	p.leavesBy(kb.Enter)
	p.do("the template", shown(`//main//a[.="A run takes long" and @aria-current]`))
	p.tabsTo("Create the automation")
	p.leavesBy(kb.Enter)
	p.reads("The automation is created.")
	p.findsNoProblem()
}
