package recording

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"parley/costs"
	"parley/llm"
	"parley/sessionkeys"
	"parley/transcript"
)

// ErrUnreadable is the kind of every error of Read but those of its reader: it
// is no recording that this version can read. The text names the line.
var ErrUnreadable = errors.New("the recording cannot be read")

// Recording is what a file holds, in the order of the file.
type Recording struct {
	Header     Header
	Sessions   []Session
	Envelopes  []Envelope
	Turns      []Turn
	Messages   map[sessionkeys.SessionID][]transcript.Message
	Frames     map[string]llm.Frame
	Requests   []Request
	Costs      map[string]costs.Entry // by id
	Deliveries []Delivery
}

// TailMessages are the messages of r that no transcript has.
func (r Request) TailMessages() (ms []transcript.Message, err error) {
	for _, b := range r.Tail {
		var m transcript.Message
		if err := json.Unmarshal(b, &m); err != nil {
			return nil, fmt.Errorf("decode what request %s ends with: %w", r.ID, err)
		}
		ms = append(ms, m)
	}
	return ms, nil
}

// mostLine is far more than any line has.
const mostLine = 256 << 20

// Read reads a whole recording. A file that is damaged, cut off, of another
// version, or something else altogether is ErrUnreadable.
func Read(r io.Reader) (*Recording, error) {
	in := &reader{got: &Recording{
		Messages: map[sessionkeys.SessionID][]transcript.Message{}, Frames: map[string]llm.Frame{}, Costs: map[string]costs.Entry{},
	}, sessions: map[sessionkeys.SessionID]bool{}}
	lines := bufio.NewReaderSize(r, 1<<20)
	for {
		b, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read the recording: %w", err)
		}
		if len(b) == 0 {
			break
		}
		in.no++
		if err := in.line(b); err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrUnreadable, in.no, err)
		}
	}
	switch {
	case in.no == 0:
		return nil, fmt.Errorf("%w: it is empty", ErrUnreadable)
	case !in.ended:
		return nil, fmt.Errorf("%w: it was cut off behind line %d: its last line is missing", ErrUnreadable, in.no)
	}
	in.got.completeJoined()
	return in.got, nil
}

// completeJoined fills in what joined the turns of a recording that does not say so,
// since its version did not: by the ids of the messages.
func (r *Recording) completeJoined() {
	turns := map[string]*Turn{}
	for i := range r.Turns {
		if len(r.Turns[i].Joined) == 0 {
			turns[r.Turns[i].ID] = &r.Turns[i]
		}
	}
	for _, ms := range r.Messages {
		for _, m := range ms {
			id, ok := transcript.ParseMessageID(m.ID)
			if t := turns[id.Turn]; ok && t != nil && id.Kind == transcript.Joining {
				t.Joined = append(t.Joined, id.Seq)
			}
		}
	}
}

type reader struct {
	got      *Recording
	no       int
	ended    bool
	sessions map[sessionkeys.SessionID]bool
}

var (
	errForeign = errors.New("it is not a recording of parley: its first line is no header")
	errCut     = errors.New("it was cut off in the middle")
	errAfter   = errors.New("something follows the last line")
	errLong    = errors.New("it is far too long")
)

func (in *reader) line(b []byte) error {
	if len(b) > mostLine {
		return errLong
	}
	whole := bytes.HasSuffix(b, []byte{'\n'})
	var kind struct {
		Type   string `json:"type"`
		Format string `json:"format"`
	}
	if err := json.Unmarshal(b, &kind); err != nil {
		switch {
		case in.no == 1:
			return errForeign
		case !whole:
			return errCut
		}
		return fmt.Errorf("it is damaged: %w", err)
	}
	switch {
	case in.ended:
		return errAfter
	case in.no == 1:
		if kind.Type != TypeHeader || kind.Format != Format {
			return errForeign
		}
		return in.header(b)
	}
	return in.take(kind.Type, b)
}

func (in *reader) header(b []byte) error {
	var v struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return fmt.Errorf("the header is damaged: %w", err)
	}
	if v.Version != Version {
		return fmt.Errorf("the recording is of version %d, and this program reads version %d: use the parley that wrote it", v.Version, Version)
	}
	if err := json.Unmarshal(b, &in.got.Header); err != nil {
		return fmt.Errorf("the header is damaged: %w", err)
	}
	if _, err := sessionkeys.Parse(in.got.Header.Key); err != nil {
		return fmt.Errorf("the header's key: %w", err)
	}
	return nil
}

// decoded reads a line strictly as a T.
func decoded[T any](b []byte) (v T, err error) {
	if err = json.Unmarshal(b, &v); err != nil {
		err = fmt.Errorf("it is damaged: %w", err)
	}
	return v, err
}

func (in *reader) take(kind string, b []byte) error {
	got := in.got
	switch kind {
	case TypeSession:
		v, err := decoded[Session](b)
		if err == nil && in.sessions[v.ID] {
			err = fmt.Errorf("session %s is there twice", v.ID)
		}
		in.sessions[v.ID] = true
		got.Sessions = append(got.Sessions, v)
		return err
	case TypeEnvelope:
		v, err := decoded[Envelope](b)
		got.Envelopes = append(got.Envelopes, v)
		return in.of(v.Session, err)
	case TypeTurn:
		v, err := decoded[Turn](b)
		got.Turns = append(got.Turns, v)
		return in.of(v.Session, err)
	case TypeMessage:
		return in.message(b)
	case TypeFrame:
		return in.frame(b)
	case TypeRequest:
		v, err := decoded[Request](b)
		if _, ok := got.Frames[v.Frame]; err == nil && !ok {
			err = fmt.Errorf("the frame %s was not there before", v.Frame)
		}
		if n := len(got.Messages[v.Session]); err == nil && v.Messages > n {
			err = fmt.Errorf("it sends %d messages, and only %d were there before: lines are missing", v.Messages, n)
		}
		got.Requests = append(got.Requests, v)
		return in.of(v.Session, err)
	case TypeCost:
		v, err := decoded[Cost](b)
		got.Costs[v.Entry.ID] = v.Entry
		return in.of(v.Session, err)
	case TypeDelivery:
		v, err := decoded[Delivery](b)
		got.Deliveries = append(got.Deliveries, v)
		return in.of(v.Session, err)
	case TypeEnd:
		v, err := decoded[End](b)
		if err == nil && v.Lines != in.no-1 {
			err = fmt.Errorf("%d lines are before it, and %d were written: lines are missing", in.no-1, v.Lines)
		}
		in.ended = true
		return err
	case TypeHeader:
		return errors.New("a second header: two recordings stand in one file")
	}
	return fmt.Errorf("a line of type %q, which this version does not know", kind)
}

// of holds a line to its session, which stands before it.
func (in *reader) of(id sessionkeys.SessionID, err error) error {
	if err == nil && !in.sessions[id] {
		err = fmt.Errorf("the session %s was not there before", id)
	}
	return err
}

func (in *reader) message(b []byte) error {
	v, err := decoded[Message](b)
	if err := in.of(v.Session, err); err != nil {
		return err
	}
	ms := in.got.Messages[v.Session]
	if v.No != len(ms)+1 {
		return fmt.Errorf("message %d follows message %d: lines are missing", v.No, len(ms))
	}
	var m transcript.Message
	if err := m.UnmarshalJSON(v.Message); err != nil {
		return fmt.Errorf("it is damaged: %w", err)
	}
	in.got.Messages[v.Session] = append(ms, m)
	return nil
}

func (in *reader) frame(b []byte) error {
	v, err := decoded[Frame](b)
	if err != nil {
		return err
	}
	var f llm.Frame
	if err := f.UnmarshalJSON(v.Frame); err != nil {
		return fmt.Errorf("it is damaged: %w", err)
	}
	in.got.Frames[v.Name] = f
	return nil
}
