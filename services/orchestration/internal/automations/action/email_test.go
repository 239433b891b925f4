package action

import (
	"context"
	"fmt"
	"net/textproto"
	"testing"

	"github.com/stretchr/testify/require"
)

// Readers of events learn no address, name or reply of the operator's mail server.
func TestProblemsOfMailNameNoAddress(t *testing.T) {
	t.Parallel()
	closed, err := ParseMailer("smtp://127.0.0.1:1", "orch@example.com")
	require.NoError(t, err)
	for name, test := range map[string]struct {
		err       error
		problem   string
		permanent bool
	}{
		"no connection": {closed.send(t.Context(), nil, nil), "the exchange with the SMTP server failed", false},
		"busy":          {fmt.Errorf("name the sender: %w", &textproto.Error{Code: 421, Msg: "mail.internal"}), "the SMTP server replied 421", false},
		"refused":       {fmt.Errorf("name the sender: %w", &textproto.Error{Code: 550, Msg: "10.1.2.3"}), "the SMTP server replied 550", true},
		"time":          {context.DeadlineExceeded, "the exchange with the SMTP server failed", false},
		"no TLS":        {errNoTLS, errNoTLS.Error(), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problem, permanent := mailProblem(test.err)
			require.Equal(t, test.problem, problem)
			require.Equal(t, test.permanent, permanent)
		})
	}
}
