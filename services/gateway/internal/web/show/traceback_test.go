package show_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

const taskTraceback = `Task run failed with exception: ConnectionError('503') - Retries are exhausted
Traceback (most recent call last):
  File "/usr/lib/python3.12/site-packages/prefect/task_engine.py", line 1058, in run_context
    yield self
  File "/home/ada/etl.py", line 42, in fetch
    raise ConnectionError(f"{answer.status} for {region}")
    ^^^^^^^^^^^^^^^^^^^^^^^
  File "/usr/lib/python3.12/site-packages/httpx/_client.py", line 7, in get
    send()
    ~~~~^^
httpx.ConnectError: 503 for r07
second line of the message`

func TestParseTraceback(t *testing.T) {
	t.Parallel()
	own := show.Frame{File: "/home/ada/etl.py", Line: 42, Function: "fetch", Source: `raise ConnectionError(f"{answer.status} for {region}")`}
	for _, c := range []struct {
		name, text, err string
		own             show.Frame
		count, frames   int
	}{
		{"of a task", taskTraceback, "httpx.ConnectError: 503 for r07", own, 1, 3},
		{
			"the last of a chain", taskTraceback + "\n\nDuring handling of the above exception, another exception occurred:\n\n" +
				"Traceback (most recent call last):\n  File \"C:\\etl\\load.py\", line 3, in <module>\n    load()\nKeyError: 'id'",
			"KeyError: 'id'",
			show.Frame{File: `C:\etl\load.py`, Line: 3, Function: "<module>", Source: "load()"},
			2, 1,
		},
		{"of libraries alone", "Traceback (most recent call last):\n  File \"<frozen importlib>\", line 1, in f\nImportError", "ImportError", show.Frame{}, 1, 1},
		{"without a source line", "Traceback (most recent call last):\n  File \"a.py\", line 1\nSyntaxError: bad", "SyntaxError: bad", show.Frame{File: "a.py", Line: 1}, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, ok := show.ParseTraceback(c.text)
			require.True(t, ok)
			frame, _ := got.Own()
			require.Equal(t, c.err, got.Error)
			require.Equal(t, c.own, frame)
			require.Equal(t, []int{c.count, c.frames}, []int{got.Count, len(got.Frames)})
		})
	}
	for name, text := range map[string]string{
		"no traceback": "failed", "head alone": "Traceback (most recent call last):\n", "frames without an error": "Traceback (most recent call last):\n  File \"a\", line 1, in f\n    x()",
		"a line number beyond the range": "Traceback (most recent call last):\n  File \"a\", line 99999999999999999999, in f\n    x()\nE",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, ok := show.ParseTraceback(text)
			require.False(t, ok)
		})
	}
	require.Equal(t, "load.py", show.Frame{File: `C:\etl\load.py`}.Name())
}

func FuzzParseTraceback(f *testing.F) {
	f.Add(taskTraceback)
	f.Add("Traceback (most recent call last):\n  | File \"a\", line 1, in f\n  |   x()\n  | E: b")
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := show.ParseTraceback(text)
		if ok {
			require.NotEmpty(t, got.Frames)
			require.NotEmpty(t, got.Error)
		}
		got.Own()
	})
}
