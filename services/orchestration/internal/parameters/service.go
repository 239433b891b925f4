package parameters

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Service validates the values of forms.
type Service struct {
	orchv1.UnimplementedUiSchemaServiceServer
	hydrator  *Hydrator
	admission *admission.Controller
}

// NewService returns the service with a hydrator. The bounds, which may be nil, are those of validations.
func NewService(h *Hydrator, bounds *admission.Controller) *Service {
	return &Service{hydrator: h, admission: bounds}
}

// ValidateObj returns all violations of a schema by a form's values. It reads variables; of templates it checks only
// the syntax, because their results are not known yet.
func (s *Service) ValidateObj(ctx context.Context, r *orchv1.ValidateObjRequest) (*orchv1.SchemaValuesValidationResponse, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	form, err := s.hydrator.form(ctx, info.Workspace, r.GetSubject().GetValues())
	if err != nil {
		return nil, err
	}
	memory, err := s.admission.Compute(ctx, proto.Size(r))
	if err != nil {
		return nil, fmt.Errorf("validate values: %w", err)
	}
	defer memory.Close()
	schema, err := CompileSchema(r.GetSubject().GetSchema(), false)
	if err != nil {
		return nil, invalidSchema(err)
	}
	fieldErrors, err := schema.fieldErrors(form)
	if err != nil {
		return nil, invalidSchema(err)
	}
	list := nest(fieldErrors)
	return &orchv1.SchemaValuesValidationResponse{Errors: list, Valid: len(list) == 0}, nil
}

// invalidSchema converts a schema error to a response; other errors stay unchanged.
func invalidSchema(err error) error {
	if e, ok := errors.AsType[*SchemaError](err); ok {
		return rpc.Detail(http.StatusUnprocessableEntity, "Invalid schema: "+e.Reason)
	}
	return err
}
