package redis

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
	"parley/transcript"
)

// askedOf is a transcript.Asked in a request.
type askedOf struct {
	Frame   string  `json:"frame"`
	Body    *string `json:"body,omitempty"` // in base64, as it is stored; nil: it is kept already
	Attempt string  `json:"attempt"`        // what is stored: an attempt
}

// attempt is a sessions.Recording as it is stored.
type attempt struct {
	ID        string               `json:"id"`
	Turn      string               `json:"turn"`
	At        int64                `json:"at"`
	Upper     costs.Amount         `json:"upper"`
	Frame     string               `json:"frame"`
	Upto      int                  `json:"upto"`
	Tail      []transcript.Message `json:"tail,omitempty"`
	MaxTokens int                  `json:"max_tokens"`
	Digest    string               `json:"digest"`
}

var errNoFrame = errors.New("what is asked has no frame")

// ask is what a call that is about to be reserved asks. Body is asked for when
// no frame of this name is kept.
func (s *Store) ask(ctx context.Context, a transcript.Asked, c sessions.Charge, r costs.Reservation) (*askedOf, error) {
	if a.Frame == "" || a.Body == nil {
		return nil, errNoFrame
	}
	body, err := text(attempt{
		ID: r.ID, Turn: c.Turn, At: micros(r.At), Upper: r.Estimate.Upper,
		Frame: a.Frame, Upto: a.Upto, Tail: a.Tail, MaxTokens: a.MaxTokens, Digest: a.Digest,
	})
	if err != nil {
		return nil, fmt.Errorf("write down what is asked: %w", err)
	}
	asked := &askedOf{Frame: a.Frame, Attempt: body}
	kept, err := s.keepsFrame(ctx, a.Frame)
	if err != nil || kept {
		return asked, err
	}
	b, err := a.Body()
	if err != nil {
		return nil, fmt.Errorf("encode the frame of a request: %w", err)
	}
	encoded := base64.StdEncoding.EncodeToString(b)
	asked.Body = &encoded
	return asked, nil
}

// frameNames are names of frames that were seen in the database. Whoever trusts
// them must bear that the database has lost one since.
type frameNames struct {
	mu    sync.Mutex
	names map[string]bool // guarded by mu
}

// mostFrames bounds the names that are remembered.
const mostFrames = 4096

func (f *frameNames) has(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.names[name]
}

func (f *frameNames) add(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.names == nil || len(f.names) >= mostFrames {
		f.names = map[string]bool{}
	}
	f.names[name] = true
}

func (f *frameNames) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.names = nil
}

func (s *Store) keepsFrame(ctx context.Context, name string) (bool, error) {
	if s.frames.has(name) {
		return true, nil
	}
	a, err := s.look(ctx, get("HEXISTS", s.key("frames"), name))
	if err != nil {
		return false, fmt.Errorf("look for the frame of a request: %w", err)
	}
	if a.yes(0) {
		s.frames.add(name)
	}
	return a.yes(0), nil
}

// Asked implements [sessions.Recordings].
func (s *Store) Asked(ctx context.Context, id sessionkeys.SessionID, yield func(sessions.Recording) bool) error {
	after := 0
	err := rules.Pages(pageRows, func() (rs []sessions.Recording, err error) {
		a, err := s.look(ctx, get("LRANGE", s.key("asked:"+string(id)), strconv.Itoa(after), strconv.Itoa(after+pageRows-1)))
		for _, stored := range a.texts(0) {
			var t attempt
			after++
			if err := json.Unmarshal([]byte(stored), &t); err != nil {
				return nil, fmt.Errorf("attempt %d: %w", after, err)
			}
			rs = append(rs, sessions.Recording{ID: t.ID, Turn: t.Turn, At: instant(t.At), Upper: t.Upper, Asked: transcript.Asked{
				Frame: t.Frame, Upto: t.Upto, Tail: t.Tail, MaxTokens: t.MaxTokens, Digest: t.Digest,
			}})
		}
		return rs, err
	}, yield)
	return rules.While(err, "read what session %s asked", id)
}

// Frame implements [sessions.Recordings].
func (s *Store) Frame(ctx context.Context, name string) ([]byte, error) {
	a, err := s.look(ctx, get("HGET", s.key("frames"), name))
	if err == nil && a.at(0) == nil {
		err = sessions.ErrNotFound
	}
	var body []byte
	if err == nil {
		body, err = base64.StdEncoding.DecodeString(a.text(0))
	}
	return body, rules.While(err, "read the frame %s", name)
}
