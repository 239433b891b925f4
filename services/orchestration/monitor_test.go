package orchestration_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// monitor watches what the product asks of its database. Whatever the table in the embedded store's doc.go does not list
// fails the test: the product must run on the embedded store and on MongoDB alike.
type monitor struct {
	mu   sync.Mutex
	seen map[string]string // The word to the command that it was first seen in.
	sent map[string]int    // Commands, by name, collection and whether ids are looked up.
	// everywhere are the commands that name documents of a sharded collection without the shard key, so every shard gets them.
	everywhere map[string]string
}

func newMonitor(t *testing.T) *monitor {
	t.Helper()
	m := &monitor{seen: map[string]string{}, sent: map[string]int{}, everywhere: map[string]string{}}
	listed := subset(t)
	t.Cleanup(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		for word, command := range m.seen {
			if !listed[word] {
				t.Errorf("the product uses %s (in %s), which pkg/embeddedmongo/doc.go does not list", word, command)
			}
		}
		for name, command := range m.everywhere {
			t.Errorf("%s lacks the shard key: %s", name, command)
		}
	})
	return m
}

func (m *monitor) watch(o *options.ClientOptions) {
	o.SetMonitor(&event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		m.mu.Lock()
		defer m.mu.Unlock()
		collection, _ := e.Command.Index(0).Value().StringValueOK()
		name := e.CommandName + " " + collection
		if filter, ok := e.Command.Lookup("filter").DocumentOK(); ok && !filter.Lookup("_id").IsZero() {
			name += " by id"
		}
		m.sent[name]++
		if !targeted(e.CommandName, query.Collection(collection), e.Command) {
			m.everywhere[name] = e.Command.String()
		}
		m.note(e.CommandName, e.CommandName)
		m.walk(e.Command, e.CommandName)
	}})
}

// commands returns how many commands were sent since the last call: "insert flow", "find flow by id".
func (m *monitor) commands() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	sent := m.sent
	m.sent = map[string]int{}
	return sent
}

func (m *monitor) note(word, command string) {
	if _, seen := m.seen[word]; !seen {
		m.seen[word] = command
	}
}

// walk notes the operators and stages of a command: the keys that begin with a dollar sign.
func (m *monitor) walk(doc bson.Raw, command string) {
	elements, err := doc.Elements()
	if err != nil {
		return
	}
	for _, e := range elements {
		if key := e.Key(); strings.HasPrefix(key, "$") && key != "$db" && key != "$clusterTime" && key != "$readPreference" {
			m.note(key, command)
		}
		switch v := e.Value(); v.Type {
		case bson.TypeEmbeddedDocument, bson.TypeArray:
			m.walk(v.Value, command)
		default:
		}
	}
}

// subset reads the words of the table.
func subset(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "pkg", "embeddedmongo", "doc.go"))
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "// # Subset")
	require.True(t, found)
	table, _, found = strings.Cut(table, "// Not in the subset")
	require.True(t, found)
	vocab := map[string]bool{}
	for _, word := range strings.FieldsFunc(table, func(r rune) bool { return strings.ContainsRune(" \t\n/·(),:;", r) }) {
		vocab[word] = true
	}
	require.True(t, vocab["findAndModify"] && vocab["$elemMatch"], "the table was read")
	return vocab
}
