package destinations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/net/http/httpguts"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/egress"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// reasonAuthorization is the reason of attempts without a token.
const reasonAuthorization = "authorization"

const (
	// maxToken bounds a token in bytes: it is a header.
	maxToken = 16 << 10
	// defaultTokenLife is the time for which a token is used whose response states none, and maxTokenLife bounds what a response states.
	defaultTokenLife = 5 * time.Minute
	maxTokenLife     = 24 * time.Hour
	// tokenMargin is the time before the end of a token in which another one is fetched.
	tokenMargin = 30 * time.Second
)

// errAuthorization reports that the token endpoint gave no token.
var errAuthorization = errors.New("no token")

// sealOAuth replaces the OAuth 2 client of a destination; nil removes it.
func (s *Service) sealOAuth(ws uuid.UUID, d *orchv1.Destination, sent *orchv1.DestinationOAuthWrite) (err error) {
	d.Oauth, d.SealedClientSecret, d.SealedToken, d.TokenUntil = nil, nil, nil, 0
	if sent == nil {
		return nil
	}
	d.Oauth = &orchv1.DestinationOAuth{TokenUrl: sent.GetTokenUrl(), ClientId: sent.GetClientId(), Scopes: sent.GetScopes()}
	d.SealedClientSecret, err = s.seal(ws, d, fieldClientSecret, []byte(sent.GetClientSecret()))
	return err
}

// token returns the token of the destination. It fetches one if there is none, if its time is over, or if the receiver refused it. All
// requests of a session share it, and later sessions the stored one.
func (cs *session) token(ctx context.Context, to *endpoint, refused string) (string, error) {
	cs.tokens.Lock()
	defer cs.tokens.Unlock()
	s, c := cs.sender.service, cs.claim
	d, err := s.destinations.Get(ctx, c.ws, c.id)
	if err != nil {
		return "", err
	}
	if d.SealedToken != nil && s.Store.Now().UnixMicro() < d.GetTokenUntil() {
		kept, err := s.open(c.ws, d, fieldToken, d.GetSealedToken())
		if err != nil {
			return "", err
		}
		if token := string(kept); token != refused {
			return token, nil
		}
	}
	token, life, err := cs.fetchToken(ctx, to)
	if err != nil {
		return "", err
	}
	sealed, err := s.seal(c.ws, d, fieldToken, []byte(token))
	if err != nil {
		return "", err
	}
	until := s.Store.Now().Add(life - tokenMargin).UnixMicro()
	_, err = c.edit(ctx, func(next *orchv1.Destination) ([]store.Effect, error) {
		if next.GetSealedClientSecret() == d.GetSealedClientSecret() { // Else it is that of another client.
			next.SealedToken, next.TokenUntil = sealed, until
		}
		return nil, nil
	})
	return token, err
}

// fetchToken requests a token by the grant client_credentials (RFC 6749, section 4.4). The error matches errAuthorization if the endpoint
// gave none.
func (cs *session) fetchToken(ctx context.Context, to *endpoint) (token string, life time.Duration, err error) {
	client := to.destination.GetOauth()
	form := url.Values{"grant_type": {"client_credentials"}}
	if len(client.GetScopes()) > 0 {
		form.Set("scope", strings.Join(client.GetScopes(), " "))
	}
	m := egress.NewMessage(http.MethodPost, client.GetTokenUrl()).Form(form)
	m.Route = to.route
	m.Header.Set("Accept", "application/json")
	basic := &http.Request{Header: m.Header}
	basic.SetBasicAuth(url.QueryEscape(client.GetClientId()), url.QueryEscape(to.clientSecret))
	response, err := cs.sender.service.client.Send(ctx, m)
	if err != nil {
		return "", 0, fmt.Errorf("%w: connect to the token endpoint: %w", errAuthorization, err)
	}
	if response.Status != http.StatusOK {
		return "", 0, fmt.Errorf("%w: the token endpoint responded with status %d", errAuthorization, response.Status)
	}
	var answer struct {
		Token     string      `json:"access_token"`
		Type      string      `json:"token_type"`
		ExpiresIn json.Number `json:"expires_in"` // Some endpoints write a text.
	}
	switch err := json.Unmarshal(response.Body, &answer); {
	case err != nil:
		return "", 0, fmt.Errorf("%w: the response of the token endpoint is not the JSON of a token", errAuthorization) // It may quote a token.
	case !strings.EqualFold(answer.Type, "bearer"):
		return "", 0, fmt.Errorf("%w: the token endpoint gave no token of the type Bearer", errAuthorization)
	case answer.Token == "" || len(answer.Token) > maxToken || !httpguts.ValidHeaderFieldValue(answer.Token):
		return "", 0, fmt.Errorf("%w: the token has 1 to %d bytes, and no control characters", errAuthorization, maxToken)
	}
	life = defaultTokenLife
	if seconds, err := answer.ExpiresIn.Float64(); err == nil && seconds > 0 {
		life = time.Duration(min(seconds, maxTokenLife.Seconds()) * float64(time.Second))
	}
	return answer.Token, life, nil
}
