//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

const (
	// attackersEnv is the variable with the target of the attackers, who run as a process of their own.
	attackersEnv = "ORCH_TEST_ATTACKERS"
	// attackersReady is their line when the bombs are made. Each line of their standard input begins an attack.
	attackersReady = "the attackers are ready"
	// attackersResult precedes the outcome in their output.
	attackersResult = "outcome of the attackers: "
)

// target is a server under attack.
type target struct {
	URL   string
	Key   string            // Of the account that is attacked.
	Slugs map[string]string // Of webhooks, by their use.
}

// outcome is what the attackers saw.
type outcome struct {
	Statuses map[string]map[string]int // By entrance and kind of answer.
	Wrong    []string                  // Answers that no bomb may have.
}

// attackers send bombs.
type attackers struct {
	target

	t      *testing.T
	client *http.Client

	mu sync.Mutex
	outcome
}

// TestAttackers sends every bomb in parallel, hostileRounds times, whenever TestHostile requests it.
func TestAttackers(t *testing.T) {
	text := os.Getenv(attackersEnv)
	if text == "" {
		t.Skip("TestHostile starts it")
	}
	a := &attackers{t: t}
	require.NoError(t, json.Unmarshal([]byte(text), &a.target))
	bombs := append(hookBombs(a.Slugs), apiBombs(a.Key)...)
	a.client = &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: len(bombs)}}
	defer a.client.CloseIdleConnections()
	bodies := hostileBodies()
	fmt.Println(attackersReady)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		a.outcome = outcome{Statuses: map[string]map[string]int{}}
		a.attack(bombs, bodies)
		result, err := json.Marshal(a.outcome)
		require.NoError(t, err)
		fmt.Println(attackersResult + string(result))
	}
}

// attack sends everything to the target, and returns when the last answer has come.
func (a *attackers) attack(bombs []bomb, bodies map[string]string) {
	var all sync.WaitGroup
	for _, b := range bombs {
		all.Go(func() { a.rounds(func() { a.send(b) }) })
	}
	for _, body := range bodies {
		for _, path := range []string{"/events/in", "/events/out"} {
			all.Go(func() {
				a.rounds(func() {
					a.sendFrame("socket "+path+", without a key", path, "", body)
					a.sendFrame("socket "+path, path, a.Key, `{"type": "event", "event": `+body+`}`)
				})
			})
		}
	}
	all.Wait()
}

// rounds sends something hostileRounds times.
func (a *attackers) rounds(send func()) {
	for range hostileRounds {
		next := time.Now().Add(hostileRound)
		send()
		wait(a.t.Context(), time.Until(next))
	}
}

func (a *attackers) send(b bomb) {
	method := b.method
	if method == "" {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(a.t.Context(), method, a.URL+b.path, strings.NewReader(b.body))
	if err != nil {
		a.fault("%s, %s: %v", b.entrance, b.name, err)
		return
	}
	for name, value := range b.header {
		r.Header.Set(name, value)
	}
	response, err := a.client.Do(r)
	if err != nil {
		a.count(b.entrance, "connection closed") // The server may refuse a body that it does not read.
		return
	}
	text, _ := io.ReadAll(io.LimitReader(response.Body, 300))
	_ = response.Body.Close()
	a.count(b.entrance, fmt.Sprint(response.StatusCode))
	switch {
	case response.StatusCode == http.StatusServiceUnavailable && response.Header.Get("Retry-After") != "":
	case response.StatusCode >= http.StatusInternalServerError:
		a.fault("%s, %s: %s %s", b.entrance, b.name, response.Status, text)
	case b.stranger && response.StatusCode < http.StatusMultipleChoices && method != http.MethodGet:
		a.fault("%s, %s: a stranger gets %s", b.entrance, b.name, response.Status)
	}
}

// sendFrame authenticates a socket unless there is no key, and sends one message.
func (a *attackers) sendFrame(entrance, path, key, message string) {
	ctx, cancel := context.WithTimeout(a.t.Context(), time.Minute)
	defer cancel()
	socket, err := dial(ctx, &Orch{URL: a.URL}, path)
	if err != nil {
		a.count(entrance, "refused")
		return
	}
	defer socket.CloseNow()
	if key != "" {
		if err = socket.Write(ctx, websocket.MessageText, []byte(`{"type":"auth","token":"`+key+`"}`)); err == nil {
			_, _, err = socket.Read(ctx)
		}
		if err != nil {
			a.count(entrance, "refused")
			return
		}
	}
	_ = socket.Write(ctx, websocket.MessageText, []byte(message)) // The server may close during it.
	_, _, err = socket.Read(ctx)
	a.count(entrance, fmt.Sprintf("closed with %d", websocket.CloseStatus(err)))
}

func (a *attackers) count(entrance, answer string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.Statuses[entrance] == nil {
		a.Statuses[entrance] = map[string]int{}
	}
	a.Statuses[entrance][answer]++
}

func (a *attackers) fault(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.Wrong) < 20 {
		a.Wrong = append(a.Wrong, fmt.Sprintf(format, args...))
	}
}
