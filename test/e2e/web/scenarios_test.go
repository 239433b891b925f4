//go:build e2eweb

package web

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/test/e2e"
)

// scenario is a thing that a person does in a day: in the dashboard from the home page, and by commands.
type scenario struct {
	what string
	// most is the largest number of clicks and fields.
	most     int
	page     func(p *person, e *scenarios)
	commands [][]string
	// prints is a text of the last command.
	prints string
}

// scenarios is a server with the objects that the scenarios need.
type scenarios struct {
	*seeder
	// ids of objects by their names.
	ids map[string]string
	// hooks are the addresses of webhooks by their names.
	hooks map[string]string
}

// opens clicks an entry of the navigation.
func (p *person) opens(title string) {
	p.t.Helper()
	p.follows(`//nav[@aria-label="Pages"]//a[starts-with(normalize-space(.), "` + title + `")]`)
}

// submits types into a field and presses Enter, which leads to another page.
func (p *person) submits(name, value string) {
	p.t.Helper()
	p.types(name, value)
	p.leaves("press Enter", chromedp.SendKeys(`(//main//*[@name="`+name+`"][not(@type="hidden")])[1]`, kb.Enter))
}

// submitsChoice selects an option of a list that submits its form.
func (p *person) submitsChoice(name, text string) {
	p.t.Helper()
	p.actions++
	p.leaves("choose "+text, chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := chromedp.Evaluate[bool](`(() => {
			const list = document.querySelector("main select[name='`+name+`']");
			[...list.options].find((o) => o.text.startsWith("`+text+`")).selected = true;
			return list.dispatchEvent(new Event("change", { bubbles: true }));
		})()`)(ctx, tab)
		return err
	}))
}

// searches types into the field of the bar and presses Enter.
func (p *person) searches(text string) {
	p.t.Helper()
	p.actions++
	p.leaves("search "+text, chromedp.SendKeys(`//header//input[@name="q"]`, text+kb.Enter))
}

// orch runs a command against the server.
func (e *scenarios) orch(args ...string) string {
	e.t.Helper()
	cmd := exec.CommandContext(e.t.Context(), programs.Path("orch"), args...)
	cmd.Env = append(os.Environ(), "ORCH_API_URL="+e.api, "ORCH_PROFILES="+filepath.Join(e.t.TempDir(), "profiles.json"))
	out, err := cmd.CombinedOutput()
	require.NoError(e.t, err, "orch %s: %s", strings.Join(args, " "), out)
	return string(out)
}

// TestScenariosOfADay does each scenario in the dashboard and by commands, and prints the number of clicks and fields beside their bound. An
// scenario of several parts, such as to make a block and to replace its value, counts each part from the home page.
func TestScenariosOfADay(t *testing.T) {
	o := e2e.StartSingle(t, programs, t.TempDir(), "ORCH_VOCABULARY=prefect")
	e := &scenarios{seeder: &seeder{t, o.API()}, ids: map[string]string{}, hooks: map[string]string{}}
	browser, seen := open(t, o.URL, 20*time.Minute)
	p := &person{t: t, browser: browser, seen: seen, root: o.URL}
	for _, one := range openScenarios(e) {
		t.Run(one.what, func(t *testing.T) {
			p.t, e.t = t, t
			p.visits("/")
			p.actions = 0
			one.page(p, e)
			t.Logf("%d of %d: %s", p.actions, one.most, one.what)
			require.LessOrEqual(t, p.actions, one.most)
			out := ""
			for _, args := range one.commands {
				out = e.orch(args...)
			}
			require.Contains(t, out, one.prints)
		})
	}
}
