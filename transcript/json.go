package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// MarshalParts returns the form in which stores keep the parts of a message:
//
//	[{"type":"text","data":{"text":"Hello"}},{"type":"finish","data":{…}}]
//
// The data of an Unknown part stands in it byte for byte. It returns an error
// for a part that is nil or a pointer, and for an Unknown that has no type, one
// of the known types, or data that is no JSON.
func MarshalParts(ps []Part) ([]byte, error) {
	b := []byte{'['}
	for i, p := range ps {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendPart(b, p); err != nil {
			return nil, fmt.Errorf("encode part %d: %w", i, err)
		}
	}
	return append(b, ']'), nil
}

// UnmarshalParts reads what MarshalParts wrote. A part of a type that this
// version does not know becomes an Unknown and is kept byte for byte. No parts,
// and null, are nil. A part that is not an object of "type" and "data" is an
// error, because part of it would be lost when it is written again.
func UnmarshalParts(b []byte) ([]Part, error) {
	var stored []storedPart
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if d.Decode(&stored) == nil && d.InputOffset() == int64(len(b)) {
		if ps, err := decodeParts(stored); err == nil {
			return ps, nil
		}
	}
	var raw []json.RawMessage // one by one, to say which part is wrong
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, fmt.Errorf("decode parts: %w", err)
	}
	var ps []Part
	for i, r := range raw {
		p, err := parsePart(r)
		if err != nil {
			return nil, fmt.Errorf("decode part %d: %w", i, err)
		}
		ps = append(ps, p)
	}
	return ps, nil
}

// message is Message without its methods, with the parts where JSON has them.
type message struct {
	ID        string          `json:"id"`
	Role      Role            `json:"role"`
	Parts     json.RawMessage `json:"parts"`
	Model     string          `json:"model,omitempty"`
	CreatedAt time.Time       `json:"created_at"`
	Native    json.RawMessage `json:"native,omitempty"`
}

// MarshalJSON returns the whole message as one object, its parts as MarshalParts
// gives them. Called directly it keeps the native blocks and unknown parts byte
// for byte; json.Marshal passes its result through a compactor that drops white
// space between tokens and spells <, > and & as escapes, which no reader of
// JSON can tell apart.
func (m Message) MarshalJSON() ([]byte, error) {
	parts, err := MarshalParts(m.Parts)
	if err != nil {
		return nil, fmt.Errorf("encode message %q: %w", m.ID, err)
	}
	b := []byte(`{"id":`)
	if b, err = appendJSON(b, m.ID); err != nil {
		return nil, err
	}
	b = append(b, `,"role":`...)
	if b, err = appendJSON(b, m.Role); err != nil {
		return nil, err
	}
	b = append(append(b, `,"parts":`...), parts...)
	if m.Model != "" {
		b = append(b, `,"model":`...)
		if b, err = appendJSON(b, m.Model); err != nil {
			return nil, err
		}
	}
	b = append(b, `,"created_at":`...)
	if b, err = appendJSON(b, m.CreatedAt); err != nil {
		return nil, fmt.Errorf("encode message %q: %w", m.ID, err)
	}
	if m.Native != nil {
		b = append(b, `,"native":`...)
		if b, err = m.Native.append(b); err != nil {
			return nil, fmt.Errorf("encode message %q: %w", m.ID, err)
		}
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON wrote. m is unchanged on an error.
func (m *Message) UnmarshalJSON(b []byte) error {
	var r message
	if err := json.Unmarshal(b, &r); err != nil {
		return fmt.Errorf("decode message: %w", err)
	}
	out := Message{ID: r.ID, Role: r.Role, Model: r.Model, CreatedAt: r.CreatedAt}
	if r.Parts != nil {
		var err error
		if out.Parts, err = UnmarshalParts(r.Parts); err != nil {
			return fmt.Errorf("decode message %q: %w", r.ID, err)
		}
	}
	if r.Native != nil {
		if err := json.Unmarshal(r.Native, &out.Native); err != nil {
			return fmt.Errorf("decode message %q: native: %w", r.ID, err)
		}
	}
	*m = out
	return nil
}

// Bytes is n as JSON with every block byte for byte, which json.Marshal would
// rewrite: <, > and & would come back as escapes, and a signed block would not
// be the one that was signed.
func (n *Native) Bytes() ([]byte, error) { return n.append(nil) }

// append writes n by hand, because an encoder would rewrite the blocks.
func (n *Native) append(b []byte) ([]byte, error) {
	var err error
	b = append(b, `{"provider":`...)
	if b, err = appendJSON(b, n.Provider); err != nil {
		return nil, err
	}
	b = append(b, `,"model":`...)
	if b, err = appendJSON(b, n.Model); err != nil {
		return nil, err
	}
	if n.Blocks == nil {
		return append(b, `,"blocks":null}`...), nil
	}
	b = append(b, `,"blocks":[`...)
	for i, block := range n.Blocks {
		if !json.Valid(block) {
			return nil, fmt.Errorf("native block %d is not JSON", i)
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, block...)
	}
	return append(b, `]}`...), nil
}

func appendPart(b []byte, p Part) ([]byte, error) {
	var data any = p
	switch p := p.(type) {
	case Text, Reasoning, ToolCall, ToolResult, Finish, Binary, ImageURL, Overlay:
	case Unknown:
		if err := p.check(); err != nil {
			return nil, err
		}
		data = nil
	default:
		return nil, fmt.Errorf("%T is not a part", p)
	}
	b = append(b, `{"type":`...)
	b, err := appendJSON(b, p.partType())
	if err != nil {
		return nil, err
	}
	if u, ok := p.(Unknown); ok {
		if u.Data != nil {
			b = append(append(b, `,"data":`...), u.Data...)
		}
		return append(b, '}'), nil
	}
	b = append(b, `,"data":`...)
	if b, err = appendJSON(b, data); err != nil {
		return nil, err
	}
	return append(b, '}'), nil
}

func (u Unknown) check() error {
	if u.Type == "" {
		return errors.New("part without type")
	}
	if decoderFor(u.Type) != nil {
		return fmt.Errorf("unknown data under the known type %s", u.Type)
	}
	if u.Data != nil && !json.Valid(u.Data) {
		return fmt.Errorf("the data of %s is not JSON", u.Type)
	}
	return nil
}

// storedPart is a part as JSON has it.
type storedPart struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

func decodeParts(stored []storedPart) (ps []Part, err error) {
	for _, e := range stored {
		p, err := e.part()
		if err != nil {
			return nil, err
		}
		ps = append(ps, p)
	}
	return ps, nil
}

func parsePart(raw json.RawMessage) (Part, error) {
	var e storedPart
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return nil, err
	}
	return e.part()
}

// part returns what e holds.
func (e storedPart) part() (Part, error) {
	if e.Type == "" {
		return nil, errors.New("part without type")
	}
	decode := decoderFor(e.Type)
	if decode == nil {
		return Unknown(e), nil
	}
	if e.Data == nil || bytes.Equal(e.Data, []byte("null")) {
		return nil, fmt.Errorf("%s has no data", e.Type)
	}
	p, err := decode(e.Data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Type, err)
	}
	return p, nil
}

// decoderFor is nil for a type that this version does not know.
func decoderFor(partType string) func([]byte) (Part, error) {
	switch partType {
	case "text":
		return decode[Text]
	case "reasoning":
		return decode[Reasoning]
	case "tool_call":
		return decode[ToolCall]
	case "tool_result":
		return decode[ToolResult]
	case "finish":
		return decode[Finish]
	case "binary":
		return decode[Binary]
	case "image_url":
		return decode[ImageURL]
	case "overlay":
		return decode[Overlay]
	}
	return nil
}

// decode reads the data of a part, which was read as JSON already.
func decode[P Part](b []byte) (Part, error) {
	var p P
	var err error
	if own, ok := any(&p).(json.Unmarshaler); ok {
		err = own.UnmarshalJSON(b)
	} else {
		err = json.Unmarshal(b, &p)
	}
	return p, err
}

type finish struct {
	Reason FinishReason `json:"reason"`
	Time   int64        `json:"time"`
	Size   *RequestSize `json:"size,omitempty"`
}

// MarshalJSON returns the stored form, with the time in unix seconds.
func (f Finish) MarshalJSON() ([]byte, error) {
	w := finish{Reason: f.Reason}
	if f.Size != (RequestSize{}) {
		w.Size = &f.Size
	}
	if !f.Time.IsZero() {
		w.Time = f.Time.Unix()
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads the stored form; the time comes back in UTC.
func (f *Finish) UnmarshalJSON(b []byte) error {
	var w finish
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*f = Finish{Reason: w.Reason}
	if w.Size != nil {
		f.Size = *w.Size
	}
	if w.Time != 0 {
		f.Time = time.Unix(w.Time, 0).UTC()
	}
	return nil
}

// appendJSON appends v without the escapes that only HTML needs.
func appendJSON(b []byte, v any) ([]byte, error) {
	var w bytes.Buffer
	e := json.NewEncoder(&w)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return append(b, bytes.TrimSuffix(w.Bytes(), []byte{'\n'})...), nil
}
