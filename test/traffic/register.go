package traffic

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// register sends the schema of a block, as a client does after a lookup by its checksum found none.
func (r *replay) register(ctx context.Context, look Call) error {
	if !strings.Contains(look.Path, "/block_schemas/checksum/") || look.Status != http.StatusOK {
		return nil
	}
	var schema struct {
		Fields       json.RawMessage `json:"fields"`
		BlockTypeID  json.RawMessage `json:"block_type_id"`
		Capabilities json.RawMessage `json:"capabilities"`
		Version      json.RawMessage `json:"version"`
	}
	if err := json.Unmarshal(look.Answer, &schema); err != nil {
		return fmt.Errorf("decode recorded schema: %w", err)
	}
	body, err := json.Marshal(schema)
	if err != nil {
		return fmt.Errorf("encode schema: %w", err)
	}
	create := Call{Method: http.MethodPost, Path: "/api/block_schemas/", Header: look.Header}
	answer, err := r.send(ctx, create, r.now(string(body), look.At))
	if err != nil {
		return err
	}
	if answer.status == http.StatusServiceUnavailable {
		return nil // The next lookup finds none either, and registers again.
	}
	if answer.status != http.StatusCreated {
		return fmt.Errorf("register schema: %d %s", answer.status, answer.body)
	}
	recorded, err := parse(look.Answer)
	if err != nil {
		return fmt.Errorf("decode recorded schema: %w", err)
	}
	ours, err := parse(answer.body)
	if err != nil {
		return fmt.Errorf("decode registered schema: %w", err)
	}
	r.compare(recorded, ours) // It learns the ids; the response itself is compared later.
	return nil
}
