//go:build e2eweb

package web

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/jpeg"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/test/e2e"
)

var keepImages = flag.Bool("images", false, "write the images of the README to docs/images")

// images is the folder of the README's images.
const images = "../../../docs/images"

const (
	// maxImage bounds an image in bytes.
	maxImage = 150 << 10
	// likeness is the largest mean difference of brightness between the cells of two images of one page.
	likeness = 0.12
)

// TestScreenshots takes the images of the README, light and dark, and compares them loosely with the stored ones. Data differs in each
// run; a page that is blank, unstyled or in the wrong colours differs more.
func TestScreenshots(t *testing.T) {
	o := e2e.StartSingle(t, programs, t.TempDir())
	run, webhook := seedScenery(t, o.API())
	p := newPerson(t, o.URL)
	_, err := chromedp.Call(p.browser, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 1280, Height: 860, DeviceScaleFactor: 1})
	require.NoError(t, err)
	for name, path := range map[string]string{"home": "/", "run": "/runs/flow-run/" + run, "bench": "/webhooks/webhook/" + webhook + "/bench"} {
		for _, scheme := range []string{"light", "dark"} {
			_, err := chromedp.Call(p.browser, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
			})
			require.NoError(t, err)
			p.visits(path)
			p.do("images are loaded", chromedp.WaitReady(chromedp.CSS("main")))
			quality := int64(80)
			taken, err := chromedp.Call(p.browser, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatJpeg, Quality: &quality})
			require.NoError(t, err)
			require.Less(t, len(taken.Data), maxImage, name)
			file := filepath.Join(images, name+"-"+scheme+".jpg")
			if *keepImages {
				require.NoError(t, os.WriteFile(file, taken.Data, 0o600))
			}
			stored, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Less(t, difference(cells(t, stored), cells(t, taken.Data)), likeness, "%s, %s", name, scheme)
		}
	}
	p.findsNoProblem()
}

// cells returns the mean brightness of the cells of a coarse grid over an image, from 0 to 1.
func cells(t *testing.T, encoded []byte) []float64 {
	t.Helper()
	picture, err := jpeg.Decode(bytes.NewReader(encoded))
	require.NoError(t, err)
	const columns, rows = 16, 10
	var all []float64
	bounds := picture.Bounds()
	for i := range columns * rows {
		x, y := i%columns, i/columns
		cell := image.Rect(bounds.Dx()*x/columns, bounds.Dy()*y/rows, bounds.Dx()*(x+1)/columns, bounds.Dy()*(y+1)/rows)
		sum, n := 0.0, 0
		for dy := cell.Min.Y; dy < cell.Max.Y; dy += 2 {
			for dx := cell.Min.X; dx < cell.Max.X; dx += 2 {
				r, g, b, _ := picture.At(dx, dy).RGBA()
				sum += float64(r+g+b) / (3 * 0xffff)
				n++
			}
		}
		all = append(all, sum/float64(n))
	}
	return all
}

func difference(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += max(a[i]-b[i], b[i]-a[i])
	}
	return sum / float64(len(a))
}

// seedScenery creates what the images show: runs of a day, a run with tasks, and a webhook whose template fails.
func seedScenery(t *testing.T, api string) (run, webhook string) {
	t.Helper()
	s, now := seeder{t, api}, time.Now().UTC()
	random := rand.New(rand.NewPCG(1, 2))
	var flows []string
	for _, name := range []string{"nightly-sync", "train-model", "report", "ingest-orders"} {
		flows = append(flows, s.post("/flows/", object{"name": name}))
	}
	const runs = 400
	type plan struct {
		flow, state string
		due         time.Time
		took        time.Duration
	}
	plans := make([]plan, runs)
	for i := range plans {
		plans[i] = plan{flows[random.IntN(len(flows))], "COMPLETED", now.Add(-time.Duration(random.IntN(23*60)) * time.Minute), time.Duration(5+random.ExpFloat64()*150) * time.Millisecond}
		if i%11 == 0 {
			plans[i].state = "FAILED"
		}
	}
	message := object{"FAILED": "KeyError: 'order_id'", "COMPLETED": nil}
	concurrently(runs, func(i int) {
		id := s.post("/flow_runs/", object{"flow_id": plans[i].flow, "name": fmt.Sprintf("able-condor-%d", i), "tags": []string{"prod"}, "state": object{
			"type": "SCHEDULED", "state_details": object{"scheduled_time": plans[i].due.Format(time.RFC3339Nano)},
		}})
		s.post("/flow_runs/"+id+"/set_state", object{"state": object{"type": "RUNNING"}, "force": true})
		<-time.After(plans[i].took)
		s.post("/flow_runs/"+id+"/set_state", object{"state": object{"type": plans[i].state, "message": message[plans[i].state]}, "force": true})
	})
	run = s.post("/flow_runs/", object{
		"flow_id": flows[0], "name": "able-condor", "tags": []string{"prod"}, "state": object{"type": "RUNNING"}, "parameters": object{"day": "2026-11-28", "dry": false},
	})
	tasks := map[string]string{}
	for i, task := range []struct {
		name  string
		needs []string
		state string
	}{
		{"extract", nil, "COMPLETED"},
		{"load-orders", []string{"extract"}, "COMPLETED"},
		{"load-items", []string{"extract"}, "COMPLETED"},
		{"load-customers", []string{"extract"}, "COMPLETED"},
		{"check", []string{"load-orders", "load-items", "load-customers"}, "FAILED"},
		{"publish", []string{"check"}, ""},
	} {
		inputs := []object{}
		for _, need := range task.needs {
			inputs = append(inputs, object{"input_type": "task_run", "id": tasks[need]})
		}
		state := "RUNNING"
		if task.state == "" {
			state = "PENDING"
		}
		tasks[task.name] = s.post("/task_runs/", object{
			"flow_run_id": run, "task_key": task.name, "dynamic_key": strconv.Itoa(i), "name": task.name, "state": object{"type": state}, "task_inputs": object{"rows": inputs},
		})
		if task.state != "" {
			<-time.After(time.Duration(100+random.IntN(400)) * time.Millisecond)
			s.post("/task_runs/"+tasks[task.name]+"/set_state", object{"state": object{"type": task.state}, "force": true})
		}
	}
	line := func(level int, task, message string) object {
		return object{"name": "task_runs", "level": level, "message": message, "timestamp": now.Format(time.RFC3339Nano), "flow_run_id": run, "task_run_id": tasks[task]}
	}
	logs := []object{
		line(20, "extract", "read 1,204 rows"), line(20, "load-orders", "stored 1,204 orders"), line(30, "check", "3 orders without a customer"),
		line(40, "check", "Task run failed with exception: KeyError('order_id')\nTraceback (most recent call last):\n"+
			"  File \"/srv/etl.py\", line 42, in check\n    customers[row[\"order_id\"]]\nKeyError: 'order_id'"),
	}
	s.post("/logs/", logs)
	s.post("/flow_runs/"+run+"/set_state", object{"state": object{"type": "FAILED", "message": "KeyError: 'order_id'"}, "force": true})
	webhook, _ = webhookWith(t, api, brokenTemplate)
	return run, webhook
}
