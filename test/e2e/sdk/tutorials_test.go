//go:build e2esdk

package sdk

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/test/e2e"
)

// block is a fenced block of a page: "sh" is run in one shell for the whole page, "sh terminal" beside it until the page ends, and a block
// with a file's name is written. output is what the commands must print, as a comment after the block says.
type block struct {
	language, argument, text, output string
}

// pageBlocks returns the blocks of a page that a reader runs or writes.
func pageBlocks(t *testing.T, path string) []block {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	const outputComment = "<!-- output: "
	var blocks []block
	var open *block
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		line := lines.Text()
		info, fence := strings.CutPrefix(line, "```")
		switch expected, isOutput := strings.CutPrefix(line, outputComment); {
		case fence && open != nil:
			if open.language == "sh" || open.argument != "" {
				blocks = append(blocks, *open)
			}
			open = nil
		case fence:
			language, argument, _ := strings.Cut(info, " ")
			open = &block{language: language, argument: argument}
		case open != nil:
			open.text += line + "\n"
		case isOutput:
			require.NotEmpty(t, blocks)
			blocks[len(blocks)-1].output = strings.TrimSuffix(expected, " -->")
		}
	}
	require.NoError(t, lines.Err())
	require.Nil(t, open, "%s: a block does not end", path)
	return blocks
}

// reader is somebody who follows a page with a shell, an empty home directory and the programs on the path.
type reader struct {
	t         *testing.T
	directory string
	address   string // Of the server, in place of the default one.
	served    bool   // The server runs already, so the page's command for it is left out.
	env       []string
}

// newReader returns a reader with the programs of the tests.
func newReader(t *testing.T) *reader {
	t.Helper()
	return newReaderAt(t, programs.Dir, e2e.FreeAddress(t))
}

// newReaderAt returns a reader with the program orch of a directory, and with a server at an address.
func newReaderAt(t *testing.T, bin, address string) *reader {
	t.Helper()
	python, err := filepath.Abs(*environment)
	require.NoError(t, err)
	r := &reader{t: t, directory: t.TempDir(), address: address}
	r.env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "PREFECT_") || strings.HasPrefix(variable, "ORCH_")
	})
	r.env = append(r.env, "HOME="+t.TempDir(), "PATH="+bin+":"+filepath.Join(python, "bin")+":"+os.Getenv("PATH"),
		"ORCH_GATEWAY_LISTEN="+r.address, "ORCH_INTERNAL_LISTEN=127.0.0.1:0", "ORCH_API_URL=http://"+r.address+"/api", "NO_COLOR=1")
	return r
}

// command returns a command of a shell in the reader's directory, which is killed with all that it started.
func (r *reader) command(ctx context.Context, text string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-eu", "-c", r.here(text))
	cmd.Dir, cmd.Env = r.directory, r.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

// here replaces the default address by the reader's.
func (r *reader) here(text string) string {
	return strings.ReplaceAll(text, "127.0.0.1:4200", r.address)
}

// open runs a block in a terminal of its own until the test ends.
func (r *reader) open(text string) {
	r.t.Helper()
	log, err := os.Create(filepath.Join(r.t.TempDir(), "terminal.log"))
	require.NoError(r.t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.t.Context()))
	cmd := r.command(ctx, text)
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(r.t, cmd.Start())
	r.t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // It was killed.
		_ = log.Close()
		if r.t.Failed() {
			if printed, err := os.ReadFile(log.Name()); err == nil {
				r.t.Logf("the terminal of %s\n%s", text, printed)
			}
		}
	})
	if strings.Contains(text, "orch server") {
		require.Eventually(r.t, func() bool {
			response, err := http.Get("http://" + r.address + "/api/ready")
			if err != nil {
				return false
			}
			return response.Body.Close() == nil && response.StatusCode == http.StatusOK
		}, waitTimeout, 50*time.Millisecond)
	}
}

// TestTutorials follows each tutorial and the examples as a reader does: it writes their files and runs their commands, in their order.
func TestTutorials(t *testing.T) {
	pages, err := filepath.Glob("../../../docs/tutorials/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	pages = append(pages, "../../../docs/automation-examples.md")
	for _, page := range pages {
		t.Run(strings.TrimSuffix(filepath.Base(page), ".md"), func(t *testing.T) {
			took := newReader(t).follow(page)
			fmt.Printf("%s took %s\n", filepath.Base(page), took)
		})
	}
}

// follow writes the files of a page and runs its commands, in their order, and returns how long that took.
func (r *reader) follow(page string) time.Duration {
	r.t.Helper()
	var before string // Exports of the shell, which a reader's terminal keeps.
	began := time.Now()
	for _, b := range pageBlocks(r.t, page) {
		switch {
		case b.language == "sh" && b.argument == "terminal" && r.served && strings.Contains(b.text, "orch server"):
		case b.language == "sh" && b.argument == "terminal":
			r.open(b.text)
		case b.language == "sh":
			ctx, cancel := context.WithTimeout(r.t.Context(), waitTimeout)
			out, err := r.command(ctx, before+b.text).CombinedOutput()
			cancel()
			require.NoError(r.t, err, "%s\n%s", b.text, out)
			require.Contains(r.t, string(out), b.output, b.text)
			r.t.Logf("$ %s%s", b.text, out)
			for line := range strings.Lines(b.text) {
				if strings.HasPrefix(line, "export ") {
					before += line
				}
			}
		default:
			require.NoError(r.t, os.WriteFile(filepath.Join(r.directory, b.argument), []byte(r.here(b.text)), 0o600))
		}
	}
	return time.Since(began).Round(time.Second)
}
