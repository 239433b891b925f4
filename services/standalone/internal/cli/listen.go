package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/pkg/webhook/render"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// The pause before listen connects again: the first one, which doubles up to the last one.
const (
	firstReconnectPause = 250 * time.Millisecond
	lastReconnectPause  = 5 * time.Second
)

// listenSession shows the deliveries of a webhook, or of all webhooks of the workspace, and forwards them.
type listenSession struct {
	*connection
	cmd     *cobra.Command
	server  *remote.Server
	webhook *string // An id; nil for all webhooks of the workspace.
	filter  string
	engine  *render.Engine
	forward *forwarder // Nil without an address.
	journal *listenJournal
	again   chan struct{} // The user wants the last delivery to be forwarded again.
	last    *listened     // The last forwarded delivery.
}

func listenCommand(version string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "listen [WEBHOOK]",
		Short: "Show the deliveries of a webhook, or of all webhooks, as they arrive, and forward them to a local program",
		Long: `Show the deliveries of a webhook, or of all webhooks of the workspace, as they arrive. With --forward each request is sent to a program on
this machine, in order, with method, path, query, headers and body, and the program's answer is shown. r and Enter forward the last one again.

The log masks credentials, so forwarded requests lack the headers that prove the sender; --secret-file signs them again. Each one has the
header Orch-Delivery-Id. Requests that were refused, and bodies of more than 256 KiB, are shown and not forwarded.

When the connection breaks, the command connects again and continues after the last delivery. A command that was killed continues when it is
started again within 15 minutes; a delivery whose answer it had not seen is forwarded again, with the same Orch-Delivery-Id.`,
		Example: `  orch listen pushes --forward http://localhost:3000/hooks
  orch listen --filter 'headers["x-github-event"] == "push"'
  orch listen pushes --since 1h --forward http://localhost:3000 --secret-file secret.txt`,
		Args: cobra.MaximumNArgs(1),
	}
	c := connect(version, cmd)
	filter := textFlag(cmd, "filter", "", "a Jinja2 expression over method, headers, body, query and path that chooses deliveries")
	secret := textFlag(cmd, "secret", "", "the secret that forwarded requests are signed with; of two lines the first")
	forward := cmd.Flags().String("forward", "", "the address that requests are forwarded to, such as http://localhost:3000/hooks")
	since := spanFlag(cmd.Flags(), "since", "begin with deliveries of the log that arrived in this time, such as 1h")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		l := &listenSession{connection: c, cmd: cmd, engine: render.New(render.Options{}), again: make(chan struct{}, 1)}
		var err error
		if l.filter, _, err = filter(); err != nil {
			return err
		}
		if l.filter != "" {
			if err := l.engine.CheckFilter(l.filter); err != nil {
				return fmt.Errorf("%w: --filter: %w", errArgument, err)
			}
		}
		if *since < 0 {
			return fmt.Errorf("%w: --since must not be negative", errArgument)
		}
		var w webhookSummary
		if len(args) == 1 {
			if l.server, w, err = c.listenedWebhook(cmd.Context(), args[0]); err != nil {
				return err
			}
			l.webhook = &w.ID
		} else if l.server, err = c.server(); err != nil {
			return err
		}
		if *forward != "" {
			if l.forward, err = newForwarder(*forward, w, secret); err != nil {
				return err
			}
		}
		return l.run(cmd.Context(), *since)
	}
	c.completeNames(cmd)
	return cmd
}

// listenedWebhook reads the webhook that an argument identifies.
func (c *connection) listenedWebhook(ctx context.Context, argument string) (*remote.Server, webhookSummary, error) {
	s, path, err := c.webhookOf(ctx, argument)
	if err != nil {
		return nil, webhookSummary{}, err
	}
	w, err := remote.Read[webhookSummary](ctx, s, "GET", path, nil)
	return s, w, err
}

// run listens until ctx ends, and connects again when the connection breaks.
func (l *listenSession) run(ctx context.Context, since time.Duration) (err error) {
	name := l.server.API + " " + l.server.Workspace
	if l.webhook != nil {
		name += " " + *l.webhook
	}
	if l.journal, err = openListenJournal(name, since, time.Now()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.journal.close(ctx.Err() != nil)) }()
	go l.readKeys()
	pause := firstReconnectPause
	for {
		connected, err := l.listen(ctx)
		switch {
		case ctx.Err() != nil:
			return nil // Interrupted, as it must be.
		case errors.Is(err, remote.ErrDenied), errors.Is(err, errForward):
			return err
		case connected:
			pause = firstReconnectPause
		}
		l.warn("connection lost, connecting again: " + err.Error())
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
		pause = min(2*pause, lastReconnectPause)
	}
}

// warn prints a line beside the deliveries.
func (l *listenSession) warn(text string) { fmt.Fprintln(l.cmd.ErrOrStderr(), text) }

// readKeys reads the commands of the user until the input ends. The goroutine ends with the process: a read of a terminal has no context.
func (l *listenSession) readKeys() {
	lines := bufio.NewScanner(l.cmd.InOrStdin())
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == "r" {
			select {
			case l.again <- struct{}{}:
			default:
			}
		}
	}
}

// listen receives deliveries by one connection.
func (l *listenSession) listen(ctx context.Context) (connected bool, err error) {
	socket, err := l.server.Socket(ctx, l.server.InWorkspace("/deliveries/out"))
	if err != nil {
		return false, err
	}
	defer socket.Close()
	if err := socket.Write(ctx, map[string]any{"type": "listen", "webhook_id": l.webhook, "since": l.journal.resume()}); err != nil {
		return false, err
	}
	reading, stop := context.WithCancel(ctx)
	defer stop()
	deliveries, failed := make(chan *listened), make(chan error, 1)
	go func() { failed <- receiveDeliveries(reading, socket, deliveries) }()
	for {
		select {
		case err := <-failed:
			return connected, err
		case <-l.again:
			err = l.repeat(ctx)
		case d := <-deliveries:
			if d.logged == nil {
				connected = true
				l.say(l.cmd, "Listening.")
				err = l.journal.started(d.received)
			} else {
				err = l.take(ctx, d)
			}
		}
		if err != nil {
			stop()
			<-failed //nolint:errcheck // It ended because its context did.
			return connected, err
		}
	}
}

// receiveDeliveries reads messages until the connection or the context ends.
func receiveDeliveries(ctx context.Context, socket *remote.Socket, to chan<- *listened) error {
	for {
		text, err := socket.Read(ctx)
		if err != nil {
			return err
		}
		d, err := decodeListened(text)
		if err != nil {
			return err
		}
		select {
		case to <- d:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take shows and forwards a delivery that is new.
func (l *listenSession) take(ctx context.Context, d *listened) error {
	if l.journal.has(d.id) {
		return nil
	}
	if l.filter != "" {
		hook := &orchv1.WebhookDefinition{Filter: &l.filter}
		r := d.request()
		matches, err := l.engine.Match(ctx, hook, render.NewVariables(r, r.Body()), nil)
		if err != nil {
			l.warn(fmt.Sprintf("the filter failed for delivery %s: %s", d.id, err))
		}
		if !matches {
			return l.journal.done(d.id, d.received)
		}
	}
	if err := l.show(d); err != nil {
		return err
	}
	if l.forward != nil {
		if d.why != "" {
			l.say(l.cmd, "  not forwarded: %s", d.why)
		} else {
			l.last = d
			if err := l.forward.send(ctx, l, d); err != nil {
				return err
			}
		}
	}
	return l.journal.done(d.id, d.received)
}

// repeat forwards the last delivery again.
func (l *listenSession) repeat(ctx context.Context) error {
	if l.last == nil || l.forward == nil {
		l.say(l.cmd, "Nothing was forwarded yet.")
		return nil
	}
	l.say(l.cmd, "Again: %s %s", l.last.summary.Method, l.last.id)
	return l.forward.send(ctx, l, l.last)
}

// show prints a line for a delivery, or the complete one with --output json.
func (l *listenSession) show(d *listened) error {
	if l.output == outputJSON {
		return printLine(l.cmd.OutOrStdout(), d.text)
	}
	line := deliveryLine(d.summary, l.cmd.OutOrStdout())
	_, err := fmt.Fprintln(l.cmd.OutOrStdout(), line)
	return err
}

// errForward is an address that requests cannot be forwarded to.
var errForward = errors.New("forward deliveries")

// forwardAddress reads the address of --forward.
func forwardAddress(text string) (*url.URL, error) {
	address, err := url.Parse(text)
	if err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "" {
		return nil, fmt.Errorf("%w: --forward is like http://localhost:3000/hooks, not %q", errArgument, text)
	}
	return address, nil
}
