package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ErrElsewhere means that the log's server is at a URL, so that its tools copy it.
var ErrElsewhere = errors.New("the message log is kept by a NATS server at a URL")

// StreamCopy describes the copy of one stream, whose content stands in a file of its own.
type StreamCopy struct {
	Name     string          `json:"name"`
	Config   json.RawMessage `json:"config"`
	Messages uint64          `json:"messages"`
	LastSeq  uint64          `json:"last_seq"`
}

// copied are the streams that outlive a process: what was given up, what people wrote, and
// files on their way. Facts belong to a store at a URL; leases and probes to a process.
//
// The dead letters come first: one that is redelivered meanwhile is queued and then deleted, so that it is
// in one copy at least. If it is in both, redelivering it again adds nothing: the id of its event follows
// from that of the letter. What is given up meanwhile is still among what people wrote.
var copied = []string{streamDead, streamInbound, streamFiles}

const (
	apiSnapshot = "$JS.API.STREAM.SNAPSHOT."
	apiRestore  = "$JS.API.STREAM.RESTORE."
	copyChunk   = 128 << 10
	copyStall   = time.Minute // without a piece
)

// Copy writes the log as it is now, stream by stream, while it is used: with place and
// generation of every message, and with what was confirmed. create returns where a stream's
// content goes; the next one is asked for when it is written. [Restore] makes a log of it.
// Only the log of a server in this process is copied; another one's is [ErrElsewhere].
func (b *Broker) Copy(ctx context.Context, create func(stream string) (io.Writer, error)) (generation string, streams []StreamCopy, err error) {
	if b.host == nil {
		return "", nil, fmt.Errorf("copy the message log: %w", ErrElsewhere)
	}
	if generation, _, err = b.Generation(ctx); err != nil {
		return "", nil, fmt.Errorf("copy the message log: %w", err)
	}
	for _, name := range copied {
		if name == streamFiles {
			_, err := b.js.Stream(ctx, name)
			if errors.Is(err, jetstream.ErrStreamNotFound) {
				continue // it is made with the first file
			}
			if err != nil {
				return "", nil, fmt.Errorf("copy the message log: look for stream %s: %w", name, err)
			}
		}
		w, err := create(name)
		if err != nil {
			return "", nil, err
		}
		c, err := copyStream(ctx, b.nc, name, w)
		if err != nil {
			return "", nil, fmt.Errorf("copy the message log: stream %s: %w", name, err)
		}
		streams = append(streams, c)
	}
	return generation, streams, nil
}

// copyStream writes what the server sends of a stream; each piece is confirmed when it is written.
func copyStream(ctx context.Context, nc *nats.Conn, name string, w io.Writer) (c StreamCopy, err error) {
	inbox := nats.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, sub.Unsubscribe()) }()
	var answer struct {
		Config json.RawMessage       `json:"config"`
		State  jetstream.StreamState `json:"state"`
	}
	if err := askServer(ctx, nc, apiSnapshot+name, map[string]any{"deliver_subject": inbox, "chunk_size": copyChunk}, &answer); err != nil {
		return c, err
	}
	for {
		m, err := nextPiece(ctx, sub)
		if err != nil {
			return c, err
		}
		if len(m.Data) == 0 {
			if status := m.Header.Get("Status"); status != "" && status != "204" {
				return c, fmt.Errorf("the message server ended the copy: %s %s", status, m.Header.Get("Description"))
			}
			return StreamCopy{Name: name, Config: answer.Config, Messages: answer.State.Msgs, LastSeq: answer.State.LastSeq}, nil
		}
		if _, err := w.Write(m.Data); err != nil {
			return c, err
		}
		if m.Reply == "" { // the last piece
			continue
		}
		if err := m.Respond(nil); err != nil {
			return c, err
		}
	}
}

func nextPiece(ctx context.Context, sub *nats.Subscription) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, copyStall, errors.New("the message server sends nothing more"))
	defer cancel()
	m, err := sub.NextMsgWithContext(ctx)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return m, err
}

// askServer sends one request to the server's own interface.
func askServer(ctx context.Context, nc *nats.Conn, subject string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, copyStall)
	defer cancel()
	m, err := nc.RequestWithContext(ctx, subject, body)
	if err != nil {
		return err
	}
	if err := serverError(m.Data); err != nil {
		return err
	}
	return json.Unmarshal(m.Data, answer)
}

// serverError is the error that an answer of the server holds.
func serverError(answer []byte) error {
	if len(answer) == 0 {
		return nil
	}
	var e struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(answer, &e); err != nil {
		return fmt.Errorf("read the message server's answer: %w", err)
	}
	if e.Error != nil {
		return e.Error
	}
	return nil
}

// Restore makes the log in o.Dir, where there is none yet, of copies that [Broker.Copy] made.
// open returns a stream's content. The log has the generation and the places that it had, so a
// store that knows places of it still knows them; last is the highest. Nobody else uses
// the folder meanwhile, and after an error it is to be deleted.
func Restore(ctx context.Context, o Options, generation string, streams []StreamCopy, open func(stream string) (io.ReadCloser, error)) (last uint64, err error) {
	o.Listen, o.Relaxed = "", time.Second // the files are synced at the end
	if err := o.Validate(); err != nil {
		return 0, fmt.Errorf("broker: %w", err)
	}
	o = o.withDefaults()
	if err := restoreStreams(ctx, o, generation, streams, open); err != nil {
		return 0, fmt.Errorf("restore the message log: %w", err)
	}
	b, err := Open(ctx, o)
	if err != nil {
		return 0, err
	}
	have, last, err := b.Generation(ctx)
	if err == nil && have != generation {
		err = fmt.Errorf("restore the message log: generation %s, not %s", have, generation)
	}
	return last, errors.Join(err, b.Close(ctx))
}

func restoreStreams(ctx context.Context, o Options, generation string, streams []StreamCopy, open func(stream string) (io.ReadCloser, error)) error {
	b := newBroker(o)
	defer b.abandon()
	if _, err := b.openHost(); err != nil {
		return err
	}
	var err error
	if b.nc, err = b.dial(); err != nil {
		return err
	}
	for _, s := range streams {
		r, err := open(s.Name)
		if err != nil {
			return err
		}
		err = restoreStream(ctx, b.nc, generation, s, r)
		if err = errors.Join(err, r.Close()); err != nil {
			return fmt.Errorf("stream %s: %w", s.Name, err)
		}
	}
	return nil
}

func restoreStream(ctx context.Context, nc *nats.Conn, generation string, s StreamCopy, r io.Reader) error {
	var cfg jetstream.StreamConfig
	if err := json.Unmarshal(s.Config, &cfg); err != nil {
		return fmt.Errorf("read its configuration: %w", err)
	}
	if s.Name == streamInbound {
		if cfg.Metadata == nil {
			cfg.Metadata = map[string]string{}
		}
		cfg.Metadata[generationKey] = generation
	}
	var answer struct {
		DeliverSubject string `json:"deliver_subject"`
	}
	if err := askServer(ctx, nc, apiRestore+s.Name, map[string]any{"config": cfg}, &answer); err != nil {
		return err
	}
	piece := make([]byte, copyChunk)
	for more := true; more; {
		n, err := io.ReadFull(r, piece)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		more = n > 0 // a piece of nothing is the end
		if err := sendPiece(ctx, nc, answer.DeliverSubject, piece[:n]); err != nil {
			return err
		}
	}
	return nil
}

func sendPiece(ctx context.Context, nc *nats.Conn, subject string, piece []byte) error {
	ctx, cancel := context.WithTimeout(ctx, copyStall)
	defer cancel()
	m, err := nc.RequestWithContext(ctx, subject, piece)
	if err != nil {
		return err
	}
	return serverError(m.Data)
}
