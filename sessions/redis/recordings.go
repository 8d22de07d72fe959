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

// storedRequest is a transcript.RequestRecord in a request.
type storedRequest struct {
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

var errNoFrame = errors.New("request without a template")

// newStoredRequest is what a call that is about to be reserved asks. Body is asked for when
// no frame of this name is kept.
func (db *database) newStoredRequest(ctx context.Context, a transcript.RequestRecord, c sessions.Charge, r costs.Reservation) (*storedRequest, error) {
	if a.Template == "" || a.Body == nil {
		return nil, errNoFrame
	}
	body, err := jsonText(attempt{
		ID: r.ID, Turn: c.Turn, At: micros(r.At), Upper: r.Estimate.Upper,
		Frame: a.Template, Upto: a.Upto, Tail: a.Tail, MaxTokens: a.MaxTokens, Digest: a.Digest,
	})
	if err != nil {
		return nil, fmt.Errorf("write down what is asked: %w", err)
	}
	asked := &storedRequest{Frame: a.Template, Attempt: body}
	kept, err := db.hasTemplate(ctx, a.Template)
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

// templateNames are names of frames that were seen in the database. Whoever trusts
// them must bear that the database has lost one since.
type templateNames struct {
	mu    sync.Mutex
	names map[string]bool // guarded by mu
}

// maxFrames bounds the names that are remembered.
const maxFrames = 4096

func (f *templateNames) has(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.names[name]
}

func (f *templateNames) add(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.names == nil || len(f.names) >= maxFrames {
		f.names = map[string]bool{}
	}
	f.names[name] = true
}

func (f *templateNames) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.names = nil
}

func (db *database) hasTemplate(ctx context.Context, name string) (bool, error) {
	if db.frames.has(name) {
		return true, nil
	}
	a, err := db.query(ctx, newRead("HEXISTS", db.key("frames"), name))
	if err != nil {
		return false, fmt.Errorf("look for the frame of a request: %w", err)
	}
	if a.bool(0) {
		db.frames.add(name)
	}
	return a.bool(0), nil
}

// Requests implements [sessions.Recordings].
func (ar archive) Requests(ctx context.Context, id sessionkeys.SessionID, yield func(sessions.Recording) bool) error {
	after := 0
	err := rules.Pages(pageRows, func() (rs []sessions.Recording, err error) {
		a, err := ar.query(ctx, newRead("LRANGE", ar.key("asked:"+string(id)), strconv.Itoa(after), strconv.Itoa(after+pageRows-1)))
		for _, stored := range a.texts(0) {
			var t attempt
			after++
			if err := json.Unmarshal([]byte(stored), &t); err != nil {
				return nil, fmt.Errorf("attempt %d: %w", after, err)
			}
			rs = append(rs, sessions.Recording{ID: t.ID, Turn: t.Turn, At: instant(t.At), Upper: t.Upper, RequestRecord: transcript.RequestRecord{
				Template: t.Frame, Upto: t.Upto, Tail: t.Tail, MaxTokens: t.MaxTokens, Digest: t.Digest,
			}})
		}
		return rs, err
	}, yield)
	return rules.While(err, "read what session %s asked", id)
}

// RequestTemplate implements [sessions.Recordings].
func (ar archive) RequestTemplate(ctx context.Context, name string) ([]byte, error) {
	a, err := ar.query(ctx, newRead("HGET", ar.key("frames"), name))
	if err == nil && a.at(0) == nil {
		err = sessions.ErrNotFound
	}
	var body []byte
	if err == nil {
		body, err = base64.StdEncoding.DecodeString(a.text(0))
	}
	return body, rules.While(err, "read the frame %s", name)
}
