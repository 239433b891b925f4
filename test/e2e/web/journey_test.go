//go:build e2eweb

package web

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/test/e2e"
)

// maxPages bounds a journey; patternVisits bounds the pages of one kind.
const (
	maxPages      = 120
	patternVisits = 2
)

// chromium returns the browser's path.
func chromium(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("ORCH_TEST_CHROMIUM"); path != "" {
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("find Chromium: install the package chromium, or set ORCH_TEST_CHROMIUM to the program")
	return ""
}

// observer collects what must not happen on a page.
type observer struct {
	mu       sync.Mutex
	origin   string
	problems []string
	status   int64
}

func (o *observer) add(problem string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.problems = append(o.problems, problem)
}

// take returns and forgets the problems and the status of the last document.
func (o *observer) take() ([]string, int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	problems, status := o.problems, o.status
	o.problems, o.status = nil, 0
	return problems, status
}

func (o *observer) listen(event any) {
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" {
			o.add("console: " + string(e.Type))
		}
	case *runtime.EventExceptionThrown:
		o.add("exception: " + e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" || e.Entry.Source == "security" {
			o.add("log: " + e.Entry.Text + " " + e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, o.origin) && !strings.HasPrefix(e.Request.URL, "data:") {
			o.add("request outside the origin: " + e.Request.URL)
		}
	case *network.EventResponseReceived:
		if e.Type == "Document" {
			o.mu.Lock()
			o.status = e.Response.Status
			o.mu.Unlock()
		}
	}
}

// TestJourney follows every link from the home page and reads every page, with and without scripts, in both forms of the
// server. No page may report an error, load anything from elsewhere, run a user's text, or scroll sideways at 360 pixels.
func TestJourney(t *testing.T) {
	for name, start := range map[string]func(testing.TB, e2e.Programs, string, ...string) *e2e.Orch{"single": e2e.StartSingle, "three": e2e.StartThree} {
		t.Run(name, func(t *testing.T) {
			o := start(t, programs, t.TempDir())
			seed(t, o.API())
			wide := "/runs/flow-run/" + seedMany(t, o.API())
			for _, scripts := range []bool{true, false} {
				t.Run(map[bool]string{true: "scripts", false: "no scripts"}[scripts], func(t *testing.T) { journey(t, o.URL, scripts, wide, wide+"/tasks?n=200") })
			}
		})
	}
}

// open starts a browser, whose observer collects the problems of pages of an origin.
func open(t *testing.T, origin string, timeout time.Duration) (context.Context, *observer) {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.WindowSize(1440, 1000))
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	browser, end := chromedp.NewContext(allocator)
	t.Cleanup(end)
	browser, cancel := context.WithTimeout(browser, timeout)
	t.Cleanup(cancel)
	seen := &observer{origin: origin}
	require.NoError(t, chromedp.Do(browser)) // Listen must not miss the events of the first page.
	require.NoError(t, chromedp.Listen(browser, seen.listen))
	_, err := chromedp.Call(browser, network.Enable, network.EnableParams{})
	require.NoError(t, err)
	_, err = chromedp.Call(browser, log.Enable, cdp.Empty{})
	require.NoError(t, err)
	return browser, seen
}

func journey(t *testing.T, root string, scripts bool, more ...string) {
	browser, seen := open(t, root, 8*time.Minute)
	_, err := chromedp.Call(browser, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !scripts})
	require.NoError(t, err)
	_, err = chromedp.Call(browser, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 360, Height: 800, DeviceScaleFactor: 1})
	require.NoError(t, err)

	queue, visited, kinds := []string{root + "/"}, map[string]bool{}, map[string]int{}
	for _, path := range more {
		queue = append(queue, root+path)
	}
	for len(queue) > 0 && len(visited) < maxPages {
		address := queue[0]
		queue = queue[1:]
		kind := kindOf(address)
		if visited[address] || kinds[kind] >= patternVisits || download.MatchString(address) {
			continue
		}
		visited[address] = true
		kinds[kind]++
		require.NoError(t, chromedp.Do(browser, chromedp.Navigate(address), chromedp.WaitReady("main")), address)
		title, err := chromedp.Run(browser, chromedp.Title())
		require.NoError(t, err, address)
		width, err := chromedp.Run(browser, chromedp.Evaluate[int64](`document.documentElement.scrollWidth`))
		require.NoError(t, err, address)
		links, err := chromedp.Run(browser, chromedp.Evaluate[[]string](`[...document.querySelectorAll("a[href]")].map(a => new URL(a.getAttribute("href"), location).href)`))
		require.NoError(t, err, address)
		problems, status := seen.take()
		require.Empty(t, problems, address)
		require.EqualValues(t, 200, status, address)
		require.NotEmpty(t, title, address)
		require.NotContains(t, title, "attacked", address)
		require.LessOrEqual(t, width, int64(360), "%s scrolls sideways", address)
		requireAccessible(browser, t, address)
		screenshot(browser, t, address, scripts)
		for _, link := range links {
			link, _, _ = strings.Cut(link, "#")
			if u, err := url.Parse(link); err == nil && strings.HasPrefix(link, root+"/") && !strings.HasPrefix(u.Path, "/docs") && !strings.HasPrefix(u.Path, "/api/") {
				queue = append(queue, link)
			}
		}
	}
	require.Greater(t, len(kinds), 20, "the journey saw %d kinds of pages", len(kinds))
	t.Logf("%d pages of %d kinds", len(visited), len(kinds))
}

// download matches the addresses of files, which a browser saves and does not show.
var download = regexp.MustCompile(`/(download|payload|lines)(\?|$)`)

var ids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\d`)

// kindOf returns the path of an address without its ids, and the names of its parameters.
func kindOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	kind := ids.ReplaceAllString(u.Path, "{id}")
	for name := range u.Query() {
		kind += "?" + name
	}
	return kind
}

// screenshot writes an image of the page if ORCH_TEST_SCREENSHOTS names a folder.
func screenshot(browser context.Context, t *testing.T, address string, scripts bool) {
	folder := os.Getenv("ORCH_TEST_SCREENSHOTS")
	if folder == "" || !scripts {
		return
	}
	browser, cancel := context.WithTimeout(browser, 20*time.Second) // A page whose height never settles has no full image.
	defer cancel()
	image, err := chromedp.Run(browser, chromedp.FullScreenshot(90))
	if err != nil {
		t.Logf("take an image of %s: %s", address, err)
		return
	}
	name := strings.Trim(regexp.MustCompile(`[^a-z]+`).ReplaceAllString(kindOf(address), "-"), "-")
	require.NoError(t, os.WriteFile(filepath.Join(folder, name+".jpg"), image, 0o600))
}
