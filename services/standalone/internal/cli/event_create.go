package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// newEvent is an event before it has labels in the vocabulary of the server.
type newEvent struct {
	name, resource  string
	labels, related []string
	payload         map[string]any
	follows         string
	id              string
	occurred        time.Time
}

func eventCreateCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create EVENT --resource RESOURCE",
		Short: "Create an event, as a client of the API does",
		Long: `Create an event, as a client of the API does. The command ends when the event is stored durably; automations evaluate it
and lists show it shortly after.`,
		Example: `  orch event create order.paid --resource order.5
  orch event create order.paid --resource order.5 --related customer=customer.7 --payload '{"amount": 12}'`,
		Args: cobra.ExactArgs(1),
	}
	var e newEvent
	flags := cmd.Flags()
	flags.StringVar(&e.resource, "resource", "", "the id of the resource")
	_ = cmd.MarkFlagRequired("resource")
	flags.StringArrayVar(&e.labels, "label", nil, "a label of the resource, as NAME=VALUE; several may be given")
	flags.StringArrayVar(&e.related, "related", nil, "a related resource, as ROLE=RESOURCE; several may be given")
	flags.StringVar(&e.follows, "follows", "", "the id of the event that is processed before this one")
	flags.StringVar(&e.id, "id", "", "the id of the event; two events of one id are one")
	occurred := flags.String("occurred", "", "the time of the occurrence, such as 2026-03-01T12:00:00Z; the default is now")
	payload := textFlag(cmd, "payload", "", "the payload, a JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		e.name, e.occurred = args[0], time.Now().UTC()
		if *occurred != "" {
			var err error
			if e.occurred, err = timeOf("occurred", *occurred); err != nil {
				return err
			}
		}
		text, given, err := payload()
		if err != nil {
			return err
		}
		if given && json.Unmarshal([]byte(text), &e.payload) != nil {
			return fmt.Errorf("%w: --payload must be a JSON object", errArgument)
		}
		if e.id == "" {
			e.id = uuid.NewString()
		}
		s, err := c.server()
		if err != nil {
			return err
		}
		answer, err := e.send(cmd, s)
		if err != nil {
			return fmt.Errorf("create the event: %w", err)
		}
		return show(c, cmd, answer, eventHead, eventRow)
	}
	return cmd
}

// send sends the event, and returns it as the API has it. The API does not name the vocabulary of the server. A server with Prefect's
// vocabulary refuses an event with Orch's labels, and the refusal names the missing label.
func (e newEvent) send(cmd *cobra.Command, s *remote.Server) (json.RawMessage, error) {
	event, err := e.sendIn(cmd, s, vocabulary.Orch)
	if remote.IsStatus(err, http.StatusUnprocessableEntity) && strings.Contains(err.Error(), vocabulary.Prefect.ResourceID()) {
		return e.sendIn(cmd, s, vocabulary.Prefect)
	}
	return event, err
}

// sendIn sends the event with the labels of a vocabulary.
func (e newEvent) sendIn(cmd *cobra.Command, s *remote.Server, vocab vocabulary.Vocabulary) (json.RawMessage, error) {
	event, err := e.in(vocab)
	if err != nil {
		return nil, err
	}
	_, err = s.Call(cmd.Context(), http.MethodPost, s.InWorkspace("/events"), []json.RawMessage{event})
	return event, err
}

// in returns the event with the labels of a vocabulary.
func (e newEvent) in(vocab vocabulary.Vocabulary) (json.RawMessage, error) {
	resource := map[string]string{vocab.ResourceID(): e.resource}
	for _, label := range e.labels {
		name, value, err := pairOf("label", label)
		if err != nil {
			return nil, err
		}
		resource[name] = value
	}
	related := []map[string]string{}
	for _, one := range e.related {
		role, id, err := pairOf("related", one)
		if err != nil {
			return nil, err
		}
		related = append(related, map[string]string{vocab.ResourceID(): id, vocab.ResourceRole(): role})
	}
	event := map[string]any{"id": e.id, "event": e.name, "occurred": e.occurred, "resource": resource, "related": related}
	if e.payload != nil {
		event["payload"] = e.payload
	}
	if e.follows != "" {
		event["follows"] = e.follows
	}
	text, err := json.Marshal(event)
	if err != nil {
		return nil, fmt.Errorf("write the event: %w", err)
	}
	return text, nil
}

// pairOf separates NAME=VALUE.
func pairOf(flag, text string) (name, value string, err error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return "", "", fmt.Errorf("%w: --%s is like name=value, not %q", errArgument, flag, text)
	}
	return name, value, nil
}
