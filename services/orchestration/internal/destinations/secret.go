package destinations

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/secrets"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// The encrypted fields of a destination.
const (
	fieldHeaders = "destination.headers"
	fieldSecret  = "destination.secret"

	fieldClientSecret = "destination.client_secret"
	fieldKey          = "destination.key"
	fieldToken        = "destination.token"
)

// at is the location of an encrypted field of a destination.
func at(ws uuid.UUID, d *orchv1.Destination, field string) (secrets.FieldRef, error) {
	id, err := uuid.Parse(d.GetId())
	if err != nil {
		return secrets.FieldRef{}, fmt.Errorf("locate %s: %w", field, err)
	}
	return secrets.FieldRef{Workspace: ws, Document: id, Field: field}, nil
}

func (s *Service) seal(ws uuid.UUID, d *orchv1.Destination, field string, plain []byte) (*string, error) {
	location, err := at(ws, d, field)
	if err != nil {
		return nil, err
	}
	sealed, err := s.Secrets.Seal(location, plain)
	if err != nil {
		return nil, fmt.Errorf("encrypt %s: %w", field, err)
	}
	text := base64.StdEncoding.EncodeToString(sealed)
	return &text, nil
}

func (s *Service) open(ws uuid.UUID, d *orchv1.Destination, field, sealed string) ([]byte, error) {
	location, err := at(ws, d, field)
	if err != nil {
		return nil, err
	}
	raw, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", field, err)
	}
	plain, err := s.Secrets.Open(location, raw)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", field, err)
	}
	return plain, nil
}

// sealHeaders replaces the headers of a destination.
func (s *Service) sealHeaders(ws uuid.UUID, d *orchv1.Destination, headers map[string]string) error {
	d.HeaderNames, d.SealedHeaders = slices.Sorted(maps.Keys(headers)), nil
	if len(headers) == 0 {
		return nil
	}
	plain, err := json.Marshal(headers)
	if err != nil {
		return fmt.Errorf("encode the headers of a destination: %w", err)
	}
	d.SealedHeaders, err = s.seal(ws, d, fieldHeaders, plain)
	return err
}

// sealSecret replaces the secret of a destination; the empty secret removes it.
func (s *Service) sealSecret(ws uuid.UUID, d *orchv1.Destination, secret string) (err error) {
	d.SealedSecret = nil
	if secret != "" {
		d.SealedSecret, err = s.seal(ws, d, fieldSecret, []byte(secret))
	}
	return err
}

// headers returns the headers of a destination.
func (s *Service) headers(ws uuid.UUID, d *orchv1.Destination) (map[string]string, error) {
	if d.SealedHeaders == nil {
		return nil, nil
	}
	plain, err := s.open(ws, d, fieldHeaders, d.GetSealedHeaders())
	if err != nil {
		return nil, err
	}
	var headers map[string]string
	if err := json.Unmarshal(plain, &headers); err != nil {
		return nil, fmt.Errorf("decode the headers of a destination: %w", err)
	}
	return headers, nil
}

// secret returns the secret of a destination, empty for none.
func (s *Service) secret(ws uuid.UUID, d *orchv1.Destination) (string, error) {
	if d.SealedSecret == nil {
		return "", nil
	}
	plain, err := s.open(ws, d, fieldSecret, d.GetSealedSecret())
	return string(plain), err
}
