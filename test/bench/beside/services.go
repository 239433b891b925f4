package beside

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// StartServices starts the three built services on a MongoDB server, with the embedded broker in a process of its own, and the vocabulary
// of the reference. The usage of all four processes counts. env adds settings.
func StartServices(bin, mongodbURI string, env ...string) (_ *Server, err error) {
	s := &Server{Name: "orch services"}
	defer func() { err = s.stopAfter(err) }()
	dir, err := s.tempDir("orch-bench-services-")
	if err != nil {
		return nil, err
	}
	var free [8]string
	for i := range free {
		if free[i], err = FreeAddress(); err != nil {
			return nil, err
		}
	}
	run := func(name string, env []string, args ...string) error {
		p, err := start(name, dir, env, nil, filepath.Join(bin, name), args...)
		if err != nil {
			return err
		}
		s.stops = append(s.stops, func() error { return p.stop(syscall.SIGTERM) })
		if name == "orchestration" {
			s.process = p
		} else {
			s.others = append(s.others, p)
		}
		return nil
	}
	if err := run("orch", nil, "infra", "--data-dir", dir, "--mongo-listen", free[0], "--nats-listen", free[1]); err != nil {
		return nil, err
	}
	broker, secrets := filepath.Join(dir, "broker.url"), filepath.Join(dir, "secrets.key")
	if err := waitForFiles(broker, secrets); err != nil {
		return nil, err
	}
	settings := append([]string{
		"ORCH_LOG_LEVEL=warn", "ORCH_VOCABULARY=prefect", "ORCH_NATS_URL_FILE=" + broker, "ORCH_SECRETS_KEY_FILE=" + secrets, "ORCH_MONGODB_URI=" + mongodbURI,
		"ORCH_ORCHESTRATION_LISTEN=" + free[2], "ORCH_ORCHESTRATION_INTERNAL_LISTEN=" + free[3], "ORCH_ORCHESTRATION_ADDR=" + free[2],
		"ORCH_HOOKS_LISTEN=" + free[4], "ORCH_HOOKS_INTERNAL_LISTEN=" + free[5], "ORCH_HOOKS_ADDR=" + free[4],
		"ORCH_GATEWAY_LISTEN=" + free[6], "ORCH_GATEWAY_INTERNAL_LISTEN=" + free[7],
	}, env...)
	for _, name := range []string{"orchestration", "hooks", "gateway"} {
		if err := run(name, settings); err != nil {
			return nil, err
		}
	}
	s.Address = free[6]
	return s, s.ready()
}

// waitForFiles waits until files have a content.
func waitForFiles(paths ...string) error {
	for end := time.Now().Add(startTimeout); ; time.Sleep(10 * time.Millisecond) {
		missing := ""
		for _, path := range paths {
			if text, err := os.ReadFile(path); err != nil || strings.TrimSpace(string(text)) == "" {
				missing = path
			}
		}
		if missing == "" {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("wait for %s: it does not exist after %s", missing, startTimeout)
		}
	}
}
