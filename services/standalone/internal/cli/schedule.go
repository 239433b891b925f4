package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// deploymentField is the field of a schedule with FLOW/DEPLOYMENT.
const deploymentField = "deployment"

var scheduleResource = &resource{
	noun: "schedule", plural: "schedules", argument: "DEPLOYMENT/SCHEDULE", activity: "active",
	columns: append([]column{
		fieldColumn("ID", "id"), fieldColumn("DEPLOYMENT", deploymentField),
		{head: "SCHEDULE", text: scheduleText},
		fieldColumn("ZONE", "schedule.timezone"),
		fieldColumn("ACTIVE", "active"), fieldColumn("SLUG", "slug"),
	}, wideColumns(fieldColumn("PARAMETERS", "parameters"), fieldColumn("MAX RUNS", "max_scheduled_runs"), fieldColumn("CREATED", "created"))...),
	filters: []filter{{"deployment", "the schedules of a deployment, by id, name or FLOW/DEPLOYMENT", func(ctx context.Context, s *remote.Server, query map[string]any, value string) error {
		id, err := deploymentID(ctx, s, value)
		addCondition(query, "deployments", "id", "any_", []string{id})
		return err
	}}},
	fields: []field{
		{name: "schedule.cron", flag: "cron", usage: "a cron expression, such as \"0 6 * * 1-5\""},
		{name: "schedule.interval", flag: "interval", usage: "an interval in seconds", kind: numberField},
		{name: "schedule.anchor_date", flag: "anchor", usage: "the time from which intervals are counted"},
		{name: "schedule.rrule", flag: "rrule", usage: "a recurrence rule of RFC 5545"},
		{name: "schedule.timezone", flag: "timezone", usage: "the IANA name of the schedule's zone"},
		{name: "parameters", flag: "param", usage: "a parameter of its flow runs", kind: objectField},
		{name: "slug", flag: "slug", usage: "a name that is unique in the deployment"},
		{name: "max_scheduled_runs", flag: "max-scheduled-runs", usage: "the maximum number of runs that are scheduled ahead", kind: numberField},
	},
	list: listSchedules, path: schedulePath, names: scheduleNames,
	merge: func(before, changes map[string]any) map[string]any {
		for _, kind := range []string{"cron", "interval", "rrule"} {
			if changes[kind] != nil && before[kind] == nil { // Another kind of schedule keeps the zone alone.
				return map[string]any{"timezone": before["timezone"]}
			}
		}
		return before
	},
	read: readFromList(http.MethodGet, "", "id"),
	create: func(ctx context.Context, s *remote.Server, argument string, body map[string]any) (json.RawMessage, error) {
		id, err := deploymentID(ctx, s, argument)
		if err != nil {
			return nil, fmt.Errorf("find the deployment: %w", err)
		}
		if body["schedule"] == nil {
			return nil, fmt.Errorf("%w: one of --cron, --interval and --rrule is needed", errArgument)
		}
		if _, given := body["active"]; !given {
			body["active"] = true
		}
		answer, err := s.Call(ctx, http.MethodPost, s.InWorkspace("/deployments/"+id+"/schedules"), []any{body})
		if err != nil {
			return nil, err
		}
		made, err := remote.Decode[[]json.RawMessage](answer)
		if err != nil || len(made) == 0 {
			return nil, errors.Join(errors.New("the server returned no schedule"), err)
		}
		return made[0], nil
	},
	key: func(record map[string]any) string { return plain(record["id"]) },
}

// listSchedules reads the schedules of the deployments that a query selects.
func listSchedules(ctx context.Context, s *remote.Server, query map[string]any, _ int) ([]json.RawMessage, error) {
	deployments, err := listAll(ctx, s, s.InWorkspace("/deployments/filter"), query)
	if err != nil {
		return nil, err
	}
	records := make([]map[string]any, len(deployments))
	for i, text := range deployments {
		if records[i], err = decodeRecord(text); err != nil {
			return nil, err
		}
	}
	var schedules []json.RawMessage
	for _, record := range records {
		list, _ := record["schedules"].([]any)
		for _, one := range list {
			text, err := json.Marshal(one)
			if err != nil {
				return nil, fmt.Errorf("read schedule: %w", err)
			}
			schedules = append(schedules, text)
		}
	}
	return schedules, nil
}

// scheduleNames adds FLOW/DEPLOYMENT.
func scheduleNames(ctx context.Context, s *remote.Server, records []map[string]any) error {
	names := map[string]string{}
	for _, record := range records {
		id := plain(record["deployment_id"])
		if _, found := names[id]; !found {
			var err error
			if names[id], err = deploymentName(ctx, s, id); err != nil {
				return err
			}
		}
		record[deploymentField] = names[id]
	}
	return nil
}

// schedulePath returns the path of the schedule that DEPLOYMENT/ID, DEPLOYMENT/SLUG or the id alone identifies.
func schedulePath(ctx context.Context, s *remote.Server, argument string) (string, error) {
	query := map[string]any{}
	at := strings.LastIndex(argument, "/")
	if at >= 0 {
		id, err := deploymentID(ctx, s, argument[:at])
		if err != nil {
			return "", fmt.Errorf("find the deployment: %w", err)
		}
		addCondition(query, "deployments", "id", "any_", []string{id})
	} else if _, err := uuid.Parse(argument); err != nil {
		return "", fmt.Errorf("%w: %q is neither an id nor of the form DEPLOYMENT/SCHEDULE", errArgument, argument)
	}
	schedules, err := listSchedules(ctx, s, query, 0)
	if err != nil {
		return "", err
	}
	var slugs []string
	for _, text := range schedules {
		one, err := remote.Decode[struct {
			ID         string `json:"id"`
			Deployment string `json:"deployment_id"`
			Slug       string `json:"slug"`
		}](text)
		if err != nil {
			return "", err
		}
		if wanted := argument[at+1:]; one.ID == strings.ToLower(wanted) || one.Slug == wanted {
			return s.InWorkspace("/deployments/" + one.Deployment + "/schedules/" + one.ID), nil
		}
		slugs = append(slugs, cmp.Or(one.Slug, one.ID))
	}
	return "", fmt.Errorf("no schedule is named %q%s", argument[at+1:], suggestion(argument[at+1:], slugs))
}

// scheduleText describes a schedule in a few words.
func scheduleText(record map[string]any) string {
	text := cmp.Or(plain(at(record, "schedule.cron")), plain(at(record, "schedule.rrule")))
	if seconds, err := strconv.ParseFloat(plain(at(record, "schedule.interval")), 64); err == nil {
		text = "every " + time.Duration(seconds*float64(time.Second)).String()
		for _, zero := range []string{"m0s", "h0m"} {
			if strings.HasSuffix(text, zero) {
				text = text[:len(text)-len("0s")]
			}
		}
	}
	if record["active"] == false {
		text += " (off)"
	}
	return text
}

func scheduleCommand(version string) *cobra.Command {
	r := scheduleResource
	create := func(c *connection) *cobra.Command {
		cmd := r.createCommand(c)
		cmd.Use, cmd.Short = "create DEPLOYMENT", "Add a schedule to a deployment"
		cmd.MarkFlagsMutuallyExclusive("cron", "interval", "rrule")
		return cmd
	}
	return remoteCommand(version, &cobra.Command{
		Use: "schedule", Aliases: []string{"schedules"}, Short: "Manage the schedules of deployments, and compute times",
		Long: `Manage the schedules of deployments, and compute times. Commands accept a schedule's id, or DEPLOYMENT/SLUG.`,
		Example: `  orch schedule create load-orders/nightly --cron "0 6 * * 1-5" --timezone Europe/Rome --slug weekdays
  orch schedule disable load-orders/nightly/weekdays`,
	}, r.listCommand, r.inspectCommand, create, r.updateCommand, r.enableCommand, r.disableCommand, r.deleteCommand,
		func(*connection) *cobra.Command { return scheduleNextCommand() })
}
