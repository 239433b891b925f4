// Command footprint measures the idle cost of the single binary: the time from its start on an empty data directory to
// its first healthy response, and its idle memory. It prints both and exits with 1 when one exceeds its bound.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/orch-project/orch/test/bench/beside"
)

func main() {
	orch := flag.String("orch", "bin/orch", "the binary")
	starts := flag.Int("starts", 7, "how often it is started")
	idle := flag.Duration("idle", 5*time.Second, "how long it idles before its memory is read")
	maxStart := flag.Duration("max-start", 500*time.Millisecond, "the bound of the median start")
	maxMemory := flag.Int("max-memory", 80, "the bound of the resident memory, in MB")
	flag.Parse()
	if err := measure(*orch, *starts, *idle, *maxStart, *maxMemory); err != nil {
		fmt.Fprintln(os.Stderr, "footprint:", err)
		os.Exit(1)
	}
}

func measure(orch string, starts int, idle, maxStart time.Duration, maxMemory int) error {
	var times []time.Duration
	memory := 0
	for i := range starts {
		// Read the memory once: further waits would give no new information.
		wait := time.Duration(0)
		if i == starts-1 {
			wait = idle
		}
		took, megabytes, err := once(orch, wait)
		if err != nil {
			return err
		}
		times, memory = append(times, took), megabytes
	}
	slices.Sort(times)
	median := times[len(times)/2]
	fmt.Printf("cold start to healthy: median %s, least %s, most %s (%d starts, bound %s)\n",
		median.Round(time.Millisecond), times[0].Round(time.Millisecond), times[len(times)-1].Round(time.Millisecond), starts, maxStart)
	fmt.Printf("resident memory after idling %s: %d MB (bound %d MB)\n", idle, memory, maxMemory)
	var errs []error
	if median > maxStart {
		errs = append(errs, fmt.Errorf("start takes %s, the bound is %s", median, maxStart))
	}
	if memory > maxMemory {
		errs = append(errs, fmt.Errorf("idle memory is %d MB, the bound is %d MB", memory, maxMemory))
	}
	return errors.Join(errs...)
}

// once starts the server on an empty directory, and stops it.
func once(orch string, idle time.Duration) (took time.Duration, megabytes int, err error) {
	dir, err := os.MkdirTemp("", "orch-footprint-")
	if err != nil {
		return 0, 0, fmt.Errorf("create data directory: %w", err)
	}
	defer os.RemoveAll(dir)
	address, err := beside.FreeAddress()
	if err != nil {
		return 0, 0, err
	}
	server := exec.Command(orch, "server", "--data-dir", dir, "--listen", address)
	server.Env = append(os.Environ(), "ORCH_INTERNAL_LISTEN=127.0.0.1:0", "ORCH_LOG_LEVEL=warn")
	server.Stderr = os.Stderr
	began := time.Now()
	if err := server.Start(); err != nil {
		return 0, 0, fmt.Errorf("start the server: %w", err)
	}
	defer func() {
		stopping := server.Process.Signal(syscall.SIGTERM)
		err = errors.Join(err, stopping, server.Wait())
	}()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := healthy(ctx, "http://"+address+"/api/health"); err != nil {
		return 0, 0, err
	}
	took = time.Since(began)
	time.Sleep(idle)
	return took, int(beside.Resident(server.Process.Pid) >> 20), nil
}

func healthy(ctx context.Context, url string) error {
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return fmt.Errorf("get health: %w", err)
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			_, _ = io.Copy(io.Discard, response.Body) // Only the status matters.
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for health: %w", ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
}
