package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// automationsKey is the only key of a file of several automations, and the name of their collection.
const automationsKey = "automations"

// automationFields are the fields of an automation that a file may set, in the order in which export writes them.
var automationFields = []string{
	"name", "description", "enabled", "tags", "trigger", "actions", "actions_on_trigger", "actions_on_resolve",
}

// actionLists are the fields with actions.
var actionLists = []string{"actions", "actions_on_trigger", "actions_on_resolve"}

// actionTarget is a record that an action names. In files it stands by its name, in requests by its id.
type actionTarget struct {
	field, key string // The field of a request, and that of a file.
	id         func(ctx context.Context, s *remote.Server, name string) (string, error)
	name       func(ctx context.Context, s *remote.Server, id string) (string, error)
}

var actionTargets = []actionTarget{
	{"deployment_id", "deployment", deploymentID, deploymentName},
	{"automation_id", "automation", func(ctx context.Context, s *remote.Server, name string) (string, error) {
		return find(ctx, s, s.InWorkspace("/automations"), automationsKey, name)
	}, func(ctx context.Context, s *remote.Server, id string) (string, error) {
		return nameAt(ctx, s, "/automations/"+id)
	}},
	{"work_pool_id", "work_pool", func(ctx context.Context, s *remote.Server, name string) (string, error) {
		return find(ctx, s, s.InWorkspace("/work_pools"), "work_pools", name)
	}, func(ctx context.Context, s *remote.Server, id string) (string, error) {
		names, err := namesByID(ctx, s, s.InWorkspace("/work_pools"), "work_pools", []string{id})
		return names[id], err
	}},
	{"work_queue_id", "work_queue", func(ctx context.Context, s *remote.Server, name string) (string, error) {
		pool, queue, both := strings.Cut(name, "/")
		if !both {
			return "", fmt.Errorf("%q is not of the form POOL/QUEUE", name)
		}
		return idAt(ctx, s, "/work_pools/"+url.PathEscape(pool)+"/queues/"+url.PathEscape(queue))
	}, func(ctx context.Context, s *remote.Server, id string) (string, error) {
		queue, err := remote.Read[struct {
			Name string `json:"name"`
			Pool string `json:"work_pool_name"`
		}](ctx, s, http.MethodGet, s.InWorkspace("/work_queues/"+id), nil)
		if queue.Pool == "" {
			return "", err // A queue without a pool has no such name.
		}
		return queue.Pool + "/" + queue.Name, err
	}},
	{"block_document_id", "block_document", func(ctx context.Context, s *remote.Server, name string) (string, error) {
		kind, document, both := strings.Cut(name, "/")
		if !both {
			return "", fmt.Errorf("%q is not of the form TYPE/NAME, such as slack-webhook/alerts", name)
		}
		return idAt(ctx, s, "/block_types/slug/"+url.PathEscape(kind)+"/block_documents/name/"+url.PathEscape(document))
	}, func(ctx context.Context, s *remote.Server, id string) (string, error) {
		document, err := remote.Read[struct {
			Name string `json:"name"`
			Type struct {
				Slug string `json:"slug"`
			} `json:"block_type"`
		}](ctx, s, http.MethodGet, s.InWorkspace("/block_documents/"+id), nil)
		if document.Name == "" {
			return "", err // An anonymous document has no name.
		}
		return document.Type.Slug + "/" + document.Name, err
	}},
}

// idAt returns the id of the record at a path of the workspace.
func idAt(ctx context.Context, s *remote.Server, path string) (string, error) {
	found, err := remote.Read[record](ctx, s, http.MethodGet, s.InWorkspace(path), nil)
	return found.ID, err
}

// nameAt returns the name of the record at a path of the workspace.
func nameAt(ctx context.Context, s *remote.Server, path string) (string, error) {
	found, err := remote.Read[record](ctx, s, http.MethodGet, s.InWorkspace(path), nil)
	return found.Name, err
}

// eachAction calls do for each action of an automation.
func eachAction(automation map[string]any, do func(action map[string]any) error) error {
	for _, field := range actionLists {
		actions, _ := automation[field].([]any)
		for i, action := range actions {
			fields, ok := action.(map[string]any)
			if !ok {
				continue // The server says what it is not.
			}
			if err := do(fields); err != nil {
				return fmt.Errorf("%s.%d: %w", field, i, err)
			}
		}
	}
	return nil
}

// namesToIDs replaces the names of the records that actions of a file name by their ids.
func namesToIDs(ctx context.Context, s *remote.Server, automation map[string]any) error {
	return eachAction(automation, func(action map[string]any) error {
		for _, target := range actionTargets {
			value, set := action[target.key]
			if !set {
				continue
			}
			name, ok := value.(string)
			if !ok || name == "" {
				return fmt.Errorf("%w: %s is not a name", errArgument, target.key)
			}
			if action[target.field] != nil {
				return fmt.Errorf("%w: both %s and %s are set", errArgument, target.key, target.field)
			}
			id, err := target.id(ctx, s, name)
			if err != nil {
				return fmt.Errorf("find %s %q: %w", strings.ReplaceAll(target.key, "_", " "), name, err)
			}
			delete(action, target.key)
			action[target.field] = id
		}
		return nil
	})
}

// idsToNames replaces the ids of the records that actions name by their names. A record that is gone keeps its id.
func idsToNames(ctx context.Context, s *remote.Server, automation map[string]any) error {
	return eachAction(automation, func(action map[string]any) error {
		for _, target := range actionTargets {
			id, _ := action[target.field].(string)
			if id == "" {
				delete(action, target.field)
				continue
			}
			name, err := target.name(ctx, s, id)
			if err != nil && !remote.IsStatus(err, http.StatusNotFound) {
				return fmt.Errorf("read the name of %s %s: %w", target.key, id, err)
			}
			if err == nil && name != "" {
				delete(action, target.field)
				action[target.key] = name
			}
		}
		return nil
	})
}

// readAutomation reads a file with one automation, in YAML or JSON, and finds the records that its actions name.
func readAutomation(ctx context.Context, s *remote.Server, file string) (map[string]any, error) {
	all, err := readAutomations(ctx, s, file)
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("%w: %s has %d automations; one is expected", errArgument, file, len(all))
	}
	return all[0], nil
}

// readAutomations reads a file with one automation, or with a list of them below the key automations. It returns all errors of the file.
func readAutomations(ctx context.Context, s *remote.Server, file string) ([]map[string]any, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the automation: %w", err)
	}
	all, err := decodeAutomations(text)
	if err != nil {
		return nil, fmt.Errorf("%w: read the automation of %s: %w", errArgument, file, err)
	}
	var errs []error
	for i, automation := range all {
		err := namesToIDs(ctx, s, automation)
		for _, key := range slices.Sorted(maps.Keys(automation)) {
			if !slices.Contains(automationFields, key) {
				err = errors.Join(err, fmt.Errorf("%w: unknown field %q", errArgument, key))
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: automation %d: %w", file, i+1, err))
		}
	}
	return all, errors.Join(errs...)
}

func decodeAutomations(text []byte) ([]map[string]any, error) {
	var automation map[string]any
	if err := yaml.Unmarshal(text, &automation); err != nil {
		return nil, err
	}
	all := []map[string]any{automation}
	if _, several := automation[automationsKey]; several || len(automation) == 0 {
		var err error
		if all, err = decodeRecords(text, automationsKey); err != nil {
			return nil, err
		}
	}
	if _, err := json.Marshal(all); err != nil {
		return nil, fmt.Errorf("it has keys that are not texts: %w", err)
	}
	return all, nil
}

// checkAutomation lets the server check an automation. It evaluates it over an instant, which changes nothing.
func checkAutomation(ctx context.Context, s *remote.Server, automation map[string]any) error {
	_, err := s.Call(ctx, http.MethodPost, s.InWorkspace("/automations/evaluate"), map[string]any{
		"automation": automation, "since": time.Now().UTC().Add(-time.Millisecond), "limit": 1,
	})
	return err
}

// currentAutomations reads all automations of the workspace, by name, with the fields that a file may set.
func currentAutomations(ctx context.Context, s *remote.Server) ([]currentRecord, error) {
	texts, err := list(ctx, s, s.InWorkspace("/automations/filter"))
	if err != nil {
		return nil, err
	}
	out := make([]currentRecord, len(texts))
	for i, text := range texts {
		fields := map[string]any{}
		if err := json.Unmarshal(text, &fields); err != nil {
			return nil, fmt.Errorf("read automation: %w", err)
		}
		out[i].id, _ = fields["id"].(string)
		out[i].name, _ = fields["name"].(string)
		maps.DeleteFunc(fields, func(key string, _ any) bool { return !slices.Contains(automationFields, key) })
		out[i].fields = fields
	}
	return out, nil
}
