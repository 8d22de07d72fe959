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
	Frames     map[string]llm.RequestTemplate
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

// maxLine is far more than any line has.
const maxLine = 256 << 20

// Read reads a whole recording. A file that is damaged, cut off, of another
// version, or something else altogether is ErrUnreadable.
func Read(r io.Reader) (*Recording, error) {
	in := &reader{got: &Recording{
		Messages: map[sessionkeys.SessionID][]transcript.Message{}, Frames: map[string]llm.RequestTemplate{}, Costs: map[string]costs.Entry{},
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
		if err := in.addLine(b); err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrUnreadable, in.no, err)
		}
	}
	switch {
	case in.no == 0:
		return nil, fmt.Errorf("%w: empty file", ErrUnreadable)
	case !in.ended:
		return nil, fmt.Errorf("%w: cut off after line %d: the last line is missing", ErrUnreadable, in.no)
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
	errForeign = errors.New("not a recording of parley: the first line is no header")
	errCut     = errors.New("line cut off in the middle")
	errAfter   = errors.New("line after the end of the recording")
	errLong    = errors.New("line too long")
)

func (in *reader) addLine(b []byte) error {
	if len(b) > maxLine {
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
		return fmt.Errorf("damaged line: %w", err)
	}
	switch {
	case in.ended:
		return errAfter
	case in.no == 1:
		if kind.Type != TypeHeader || kind.Format != Format {
			return errForeign
		}
		return in.addHeader(b)
	}
	return in.addRecord(kind.Type, b)
}

func (in *reader) addHeader(b []byte) error {
	var v struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return fmt.Errorf("damaged header: %w", err)
	}
	if v.Version != Version {
		return fmt.Errorf("recording has version %d, and this program reads version %d: use the parley that wrote it", v.Version, Version)
	}
	if err := json.Unmarshal(b, &in.got.Header); err != nil {
		return fmt.Errorf("damaged header: %w", err)
	}
	if _, err := sessionkeys.Parse(in.got.Header.Key); err != nil {
		return fmt.Errorf("the header's key: %w", err)
	}
	return nil
}

// decodeLine reads a line strictly as a T.
func decodeLine[T any](b []byte) (v T, err error) {
	if err = json.Unmarshal(b, &v); err != nil {
		err = fmt.Errorf("damaged line: %w", err)
	}
	return v, err
}

func (in *reader) addRecord(kind string, b []byte) error {
	got := in.got
	switch kind {
	case TypeSession:
		v, err := decodeLine[Session](b)
		if err == nil && in.sessions[v.ID] {
			err = fmt.Errorf("session %s stands twice", v.ID)
		}
		in.sessions[v.ID] = true
		got.Sessions = append(got.Sessions, v)
		return err
	case TypeEnvelope:
		v, err := decodeLine[Envelope](b)
		got.Envelopes = append(got.Envelopes, v)
		return in.checkSession(v.Session, err)
	case TypeTurn:
		v, err := decodeLine[Turn](b)
		got.Turns = append(got.Turns, v)
		return in.checkSession(v.Session, err)
	case TypeMessage:
		return in.addMessage(b)
	case TypeFrame:
		return in.addTemplate(b)
	case TypeRequest:
		v, err := decodeLine[Request](b)
		if _, ok := got.Frames[v.Template]; err == nil && !ok {
			err = fmt.Errorf("request refers to the unknown template %s: lines are missing", v.Template)
		}
		if n := len(got.Messages[v.Session]); err == nil && v.Messages > n {
			err = fmt.Errorf("request sends %d messages, and only %d stand before it: lines are missing", v.Messages, n)
		}
		got.Requests = append(got.Requests, v)
		return in.checkSession(v.Session, err)
	case TypeCost:
		v, err := decodeLine[Cost](b)
		got.Costs[v.Entry.ID] = v.Entry
		return in.checkSession(v.Session, err)
	case TypeDelivery:
		v, err := decodeLine[Delivery](b)
		got.Deliveries = append(got.Deliveries, v)
		return in.checkSession(v.Session, err)
	case TypeEnd:
		v, err := decodeLine[End](b)
		if err == nil && v.Lines != in.no-1 {
			err = fmt.Errorf("recording has %d lines, and %d were written: lines are missing", in.no-1, v.Lines)
		}
		in.ended = true
		return err
	case TypeHeader:
		return errors.New("second header: the file holds two recordings")
	}
	return fmt.Errorf("line of the unknown type %q", kind)
}

// checkSession holds a line to its session, which stands before it.
func (in *reader) checkSession(id sessionkeys.SessionID, err error) error {
	if err == nil && !in.sessions[id] {
		err = fmt.Errorf("line of the unknown session %s: lines are missing", id)
	}
	return err
}

func (in *reader) addMessage(b []byte) error {
	v, err := decodeLine[Message](b)
	if err := in.checkSession(v.Session, err); err != nil {
		return err
	}
	ms := in.got.Messages[v.Session]
	if v.No != len(ms)+1 {
		return fmt.Errorf("message %d follows message %d: lines are missing", v.No, len(ms))
	}
	var m transcript.Message
	if err := m.UnmarshalJSON(v.Message); err != nil {
		return fmt.Errorf("damaged line: %w", err)
	}
	in.got.Messages[v.Session] = append(ms, m)
	return nil
}

func (in *reader) addTemplate(b []byte) error {
	v, err := decodeLine[Template](b)
	if err != nil {
		return err
	}
	var f llm.RequestTemplate
	if err := f.UnmarshalJSON(v.Template); err != nil {
		return fmt.Errorf("damaged line: %w", err)
	}
	in.got.Frames[v.Name] = f
	return nil
}
