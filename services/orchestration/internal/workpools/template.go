package workpools

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/jobtemplate"
	"github.com/orch-project/orch/services/orchestration/internal/parameters"
)

// checkTemplate refuses an invalid base job template. With defaults, it also checks the defaults of the variables,
// which may refer to blocks.
func (p *Pools) checkTemplate(ctx context.Context, ws uuid.UUID, raw []byte, defaults bool) error {
	template, err := jobtemplate.Parse(raw)
	if form, ok := errors.AsType[*jobtemplate.FormError](err); ok {
		return rpc.Invalid(rpc.BodyError("value_error", "Value error, "+form.Reason, "base_job_template"))
	}
	if err != nil || !defaults {
		return err
	}
	blocks := map[string]json.RawMessage{}
	for _, block := range template.Blocks() {
		id, err := uuid.Parse(block)
		there := err == nil
		if there {
			if blocks[block], there, err = p.block(ctx, ws, id); err != nil {
				return err
			}
		}
		if !there {
			return rpc.Detail(http.StatusNotFound, "Block not found.")
		}
	}
	return misfit(template.CheckDefaults(blocks), "Validation failed for work pool's job variable defaults: ")
}

// CheckJobVariables refuses job variables that do not fit the template of a pool. Layers are the deployment's variables
// and then the run's; with required, every required variable must have a value. Action, such as "creating flow run",
// stands in the text for the client.
func (p *Pools) CheckJobVariables(pool *orchv1.WorkPool, action string, required bool, layers ...[]byte) error {
	template, err := jobtemplate.Parse(pool.GetBaseJobTemplate())
	if err != nil {
		if _, ok := errors.AsType[*jobtemplate.FormError](err); ok {
			return nil // It is older than the check of templates.
		}
		return err
	}
	return misfit(template.CheckVariables(required, layers...), "Error "+action+": ")
}

// misfit translates what package jobtemplate has against variables.
func misfit(err error, prefix string) error {
	if invalid, ok := errors.AsType[*parameters.InvalidError](err); ok {
		return rpc.Detail(http.StatusUnprocessableEntity, prefix+invalid.Error())
	}
	if invalid, ok := errors.AsType[*parameters.SchemaError](err); ok {
		return rpc.Detail(http.StatusUnprocessableEntity, "Invalid schema: "+invalid.Reason)
	}
	return err
}
