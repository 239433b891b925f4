package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/clientaddr"
	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/webhook/render"
	"github.com/orch-project/orch/pkg/webhook/verify"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// webhookInput has the fields of a new or a changed webhook whose values have rules of their own.
type webhookInput interface {
	proto.Message
	GetVerification() *orchv1.WebhookVerificationInput
	GetAllowedIps() []string
	GetResponse() *orchv1.WebhookResponse
}

// checkFields refuses the fields that the server would refuse, as far as they can be checked here: apply must not stop between
// two webhooks.
func (one change) checkFields() error {
	var input webhookInput
	switch one.verb {
	case "create":
		input = &orchv1.WebhookCreate{}
	case "change":
		input = &orchv1.WebhookUpdate{}
	default:
		return nil
	}
	refuse := func(err error) error { return fmt.Errorf("%w: webhook %s: %w", errArgument, one.name, err) }
	text, err := json.Marshal(one.body)
	if err != nil {
		return refuse(err)
	}
	if err := restjson.Unmarshal(text, input); err != nil {
		return refuse(err)
	}
	var errs []error
	for _, address := range input.GetAllowedIps() {
		if _, err := clientaddr.ParseNetwork(address); err != nil {
			errs = append(errs, refuse(fmt.Errorf("allowed_ips: %w", err)))
		}
	}
	if v := input.GetVerification(); v != nil {
		config, fieldErrors := verify.Settings(v)
		for _, f := range fieldErrors {
			errs = append(errs, refuse(fmt.Errorf("verification.%s: %s", f.Field, f.Message)))
		}
		texts := verify.CheckSecrets(config, v.GetSecrets())
		for _, i := range slices.Sorted(maps.Keys(texts)) {
			errs = append(errs, refuse(fmt.Errorf("verification.secrets.%d: %s", i, texts[i])))
		}
	}
	for _, e := range render.New(render.Options{}).CheckResponse(input.GetResponse()) {
		errs = append(errs, refuse(fmt.Errorf("%s: %s", strings.Join(append([]string{"response"}, e.Path...), "."), e.Message)))
	}
	return errors.Join(errs...)
}
