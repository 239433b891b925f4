package stream

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
	"google.golang.org/grpc/status"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
)

const (
	// authTimeout bounds the wait for the message that authenticates a client, helloTimeout that for the message after it.
	authTimeout  = 5 * time.Second
	helloTimeout = 15 * time.Second
	// writeTimeout bounds a write to a client that does not read.
	writeTimeout = 15 * time.Second
	// maxHello is the maximum size in bytes of a message before authentication.
	maxHello = 16 << 10
	// maxReason is the maximum length of a close reason in bytes.
	maxReason = 123
)

// The server's own close codes, in the range for private use.
const statusProtocolViolation websocket.StatusCode = 4001

// closeReason is how a socket closes. The zero value means normally, or not yet.
type closeReason struct {
	code   websocket.StatusCode
	reason string
}

// closedByClient is the reason of a socket that the client or the network closed.
var closedByClient = closeReason{code: -1}

var (
	shuttingDown = closeReason{websocket.StatusServiceRestart, "the server is shutting down; connect again"}
	// decided ends a socket that writes to an undecided server: it has decided the vocabulary.
	decided    = closeReason{websocket.StatusServiceRestart, "the server has chosen its vocabulary; connect again"}
	tooLarge   = closeReason{websocket.StatusMessageTooBig, "the message is too large"}
	overloaded = closeReason{websocket.StatusTryAgainLater, "the server reads as many messages as it has memory for; try again later"}
	brokerAway = closeReason{websocket.StatusTryAgainLater, "the broker is not reachable; try again later"}
	storeAway  = closeReason{websocket.StatusTryAgainLater, "the store is not reachable; try again later"}
)

// socket is one open websocket.
type socket struct {
	conn *websocket.Conn
	info request.Info
	log  *slog.Logger
	// limit is the maximum size of a message in bytes. memory is charged for messages, and nil before authentication; charged is what
	// it was for the buffer of the last message.
	limit   int64
	memory  *admission.Reservation
	charged int
	// pool is the name of the work pool in the path of a worker's channel.
	pool string
	// The client authenticated with a token, or a legacy one with its request. It needs all of the scopes.
	admit  Admit
	token  string
	legacy bool
	scopes []string
	// barrier is called with every ping, before what came after it is read; the pong is sent when it returns true. Set
	// before the first read, or nil.
	barrier func(context.Context) bool
	// listening has one for a goroutine that reads, other than the one that serves the socket.
	listening sync.WaitGroup
}

// end closes the socket with a code, once; later calls do nothing. It waits a while for the client to agree.
func (k *socket) end(e closeReason) {
	switch {
	case e == closedByClient:
		_ = k.conn.CloseNow() // It has ended already.
	case e.ok():
		_ = k.conn.Close(websocket.StatusNormalClosure, "")
	default:
		_ = k.conn.Close(e.code, clip(e.reason)) // The client may have gone first.
	}
}

// read reads the next text message. Binary ones are refused; the ending is then not zero.
func (k *socket) read(ctx context.Context) ([]byte, closeReason) { return k.readInto(ctx, nil) }

// readInto is read that uses the memory of buffer, as far as it goes; the message belongs to the caller until it gives the
// memory to another call.
func (k *socket) readInto(ctx context.Context, buffer []byte) ([]byte, closeReason) {
	kind, r, err := k.conn.Reader(ctx)
	if err != nil {
		return nil, closedByClient
	}
	if kind != websocket.MessageText {
		return nil, closeReason{websocket.StatusUnsupportedData, "expected text messages"}
	}
	k.memory.Refund(k.charged - cap(buffer)) // For a buffer that was dropped.
	buffer, k.charged = buffer[:0], min(k.charged, cap(buffer))
	for {
		if len(buffer) == cap(buffer) {
			more := min(max(leastRead, cap(buffer)), int(k.limit)+1-len(buffer))
			if k.memory.Charge(more) != nil {
				return nil, k.discard(r, overloaded)
			}
			k.charged += more
			buffer = slices.Grow(buffer, more)
		}
		n, err := r.Read(buffer[len(buffer):cap(buffer)])
		buffer = buffer[:len(buffer)+n]
		switch {
		case int64(len(buffer)) > k.limit:
			return nil, k.discard(r, tooLarge)
		case errors.Is(err, io.EOF):
			return buffer, closeReason{}
		case err != nil:
			return nil, closedByClient
		}
	}
}

// leastRead is how much room there is for each part of a message that is read.
const leastRead = 2 << 10

// discard reads the rest of a message that is refused, so that its sender reads the ending. A message of many times the limit ends the
// connection instead. The closing handshake of the library would read the rest byte by byte.
func (k *socket) discard(message io.Reader, e closeReason) closeReason {
	const factor = 4
	if _, err := io.CopyN(io.Discard, message, factor*k.limit); !errors.Is(err, io.EOF) {
		return closedByClient
	}
	return e
}

func (e closeReason) ok() bool { return e.code == 0 }

// hello reads a message that the client must begin with into out, which is a pointer to a struct. A client that is too
// slow, or sends something else, gets the code and reason.
func (k *socket) hello(ctx context.Context, within time.Duration, out any, code websocket.StatusCode, reason string) closeReason {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	refused := closeReason{code, reason}
	timedOut := make(chan struct{})
	timer := time.AfterFunc(within, func() {
		defer close(timedOut)
		k.end(refused) // Closing ends the read; ending its context would drop the connection without a close frame.
	})
	data, end := k.read(ctx)
	if !timer.Stop() {
		<-timedOut
		return refused
	}
	if !end.ok() {
		return end
	}
	if json.Unmarshal(data, out) != nil {
		return refused
	}
	return closeReason{}
}

// staysAdmitted checks the permission at every interval and closes the socket once it is gone: a key may be revoked or
// a role removed. If the check itself fails, the socket stays open. The returned function stops the checks.
func (k *socket) staysAdmitted(ctx context.Context, every time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	asking.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			_, err := k.admit.all(k.token, k.legacy, k.scopes)
			if err == nil || rpc.HTTPError(err).GetStatus() >= http.StatusInternalServerError {
				continue
			}
			k.log.InfoContext(ctx, "closed a websocket: its permission was revoked", "error", err)
			k.end(closeReason{websocket.StatusPolicyViolation, status.Convert(err).Message()})
			return
		}
	})
	return func() {
		cancel()
		asking.Wait()
	}
}

// permits checks whether the client has a scope beyond those of the socket.
func (k *socket) permits(scope string) error {
	_, err := k.admit(k.token, k.legacy, scope)
	return err
}

// untilGone returns a context that ends when the client disconnects. Any message from the client closes the socket;
// pings get pongs. (websocket.Conn.CloseRead would deadlock here.)
func (k *socket) untilGone(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	k.listening.Go(func() {
		defer cancel()
		if _, end := k.read(ctx); end.ok() {
			k.end(closeReason{websocket.StatusPolicyViolation, "unexpected message"})
		}
	})
	return ctx
}

// write sends a text message. It fails when the client does not accept it in time; the connection has then ended.
func (k *socket) write(ctx context.Context, message []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return k.conn.Write(ctx, websocket.MessageText, message)
}

// clip truncates a reason to the size of a close frame.
func clip(reason string) string {
	if len(reason) <= maxReason {
		return reason
	}
	n := maxReason - len("…")
	for n > 0 && !utf8.RuneStart(reason[n]) {
		n--
	}
	return reason[:n] + "…"
}
