package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	staleTries = 4
	stalePause = 25 * time.Millisecond
)

// inboundLog is what came in, as envelopes in the mailboxes of one stream.
type inboundLog struct {
	*conn
	inbound jetstream.Stream
	letters *deadLetters
	report  Report // what Open found

	lastSeq      atomic.Uint64 // highest place this process saw confirmed
	redeliveries atomic.Uint64
}

// Next returns the first message of the mailbox whose place is above after, or
// ErrNone. In a cluster the answer may come from a server that is a moment
// behind; where the caller knows that there is a message, NextAtLeast insists.
func (b *inboundLog) Next(ctx context.Context, token string, after uint64) (Envelope, error) {
	return b.NextAtLeast(ctx, token, after, 0)
}

// NextAtLeast is like Next for a caller who knows that the mailbox has a message at
// expect. While expect is above after, "none" is not believed of a server that
// may be behind: it is asked again, and then the leader is, whose ErrNone means
// that the message is gone.
func (b *inboundLog) NextAtLeast(ctx context.Context, token string, after, expect uint64) (Envelope, error) {
	if !isToken(token) {
		return Envelope{}, errors.New("next message: the token is not 32 hex digits")
	}
	for {
		m, err := b.nextRaw(ctx, token, after, expect)
		if err != nil {
			return Envelope{}, err
		}
		e, err := decodeEnvelope(m.Subject, m.Data)
		if err == nil {
			e.Seq, e.At = m.Sequence, m.Time
			return e, nil
		}
		if err := b.deadLetterForeign(ctx, m.Subject, m.Sequence, m.Data, err); err != nil {
			return Envelope{}, err
		}
		after = m.Sequence
	}
}

func (b *inboundLog) nextRaw(ctx context.Context, token string, after, expect uint64) (m *jetstream.RawStreamMsg, err error) {
	subject := mailboxSubject(token)
	for tries := 1; ; tries++ {
		err = b.retry(ctx, "next message", func(ctx context.Context) error {
			m, err = b.inbound.GetMsg(ctx, after+1, jetstream.WithGetMsgSubject(subject))
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				m, err = nil, nil
			}
			return err
		})
		switch {
		case err != nil:
			return nil, err
		case m != nil:
			return m, nil
		case expect <= after:
			return nil, ErrNone
		case tries == staleTries:
			return b.askLeader(ctx, leaderRequest{Seq: after + 1, NextFor: subject})
		}
		if !sleep(ctx, b.done, stalePause) {
			return nil, fmt.Errorf("next message: %w", context.Cause(ctx))
		}
	}
}

func (b *inboundLog) askLeader(ctx context.Context, r leaderRequest) (*jetstream.RawStreamMsg, error) {
	return b.askLeaderOf(ctx, streamInbound, r)
}

// Last returns the place of the mailbox's newest message, 0 when it has none. The
// leader answers.
func (b *inboundLog) Last(ctx context.Context, token string) (uint64, error) {
	if !isToken(token) {
		return 0, errors.New("last message: the token is not 32 hex digits")
	}
	m, err := b.askLeader(ctx, leaderRequest{LastFor: mailboxSubject(token)})
	if errors.Is(err, ErrNone) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return m.Sequence, nil
}

// Waiting returns how many messages the mailbox has above after. In a cluster it
// may be a moment behind.
func (b *inboundLog) Waiting(ctx context.Context, token string, after uint64) (int, error) {
	if !isToken(token) {
		return 0, errors.New("count waiting messages: the token is not 32 hex digits")
	}
	request, err := json.Marshal(struct {
		Seq     uint64 `json:"seq"`
		NextFor string `json:"next_by_subj"`
		Batch   int    `json:"batch"`
	}{after + 1, mailboxSubject(token), 1})
	if err != nil {
		return 0, fmt.Errorf("count waiting messages: %w", err)
	}
	n := 0
	err = b.retry(ctx, "count waiting messages", func(ctx context.Context) error {
		// The first answer carries how many come after it.
		m, err := b.nc.RequestWithContext(ctx, "$JS.API.DIRECT.GET."+streamInbound, request)
		if err != nil {
			return err
		}
		switch status := m.Header.Get("Status"); status {
		case "":
		case "404":
			n = 0
			return nil
		default:
			return fmt.Errorf("message server answered %s %s", status, m.Header.Get("Description"))
		}
		after, err := strconv.Atoi(m.Header.Get("Nats-Num-Pending"))
		if err != nil {
			return fmt.Errorf("message server answered without a count: %w", err)
		}
		n = after + 1
		return nil
	})
	return n, err
}

// deadLetterForeign puts a message that Publish did not write, or not there, among the
// dead letters.
func (b *inboundLog) deadLetterForeign(ctx context.Context, subject string, seq uint64, data []byte, problem error) error {
	b.o.Log.Error("foreign message in the log", "subject", subject, "seq", seq, "problem", problem)
	text, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("keep a foreign message: %w", err)
	}
	generation := b.report.Generation
	err = b.letters.DeadLetter(ctx, DeadLetter{
		ID:      "foreign:" + generation + ":" + strconv.FormatUint(seq, 10),
		Reason:  "foreign",
		Problem: problem.Error(),
		Body:    text,
		At:      b.o.Now(),
		Seq:     seq,
	})
	if errors.Is(err, ErrTooLarge) { // base64 made it so; the log still has it
		err = b.letters.DeadLetter(ctx, DeadLetter{
			ID: "foreign:" + generation + ":" + strconv.FormatUint(seq, 10), Reason: "foreign",
			Problem: problem.Error() + ", and it is too large to keep here", At: b.o.Now(), Seq: seq,
		})
	}
	return err
}

var _ nats.InProcessConnProvider = (*embeddedServer)(nil)
