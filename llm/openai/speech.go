package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"mime/multipart"
	"net/http/httptrace"
	"strings"
	"sync/atomic"

	"parley/costs"
	"parley/llm"
	"parley/llm/adts"
	"parley/llm/wire"
)

// MaxSpeech is how many bytes a request for a transcription may have at OpenAI, the
// form around the file included.
const MaxSpeech = 25 << 20

// Speech is one model behind /audio/transcriptions. It is safe for concurrent use.
type Speech struct {
	base
	language string
}

var _ llm.Transcriber = (*Speech)(nil)

// NewSpeech checks o and returns the model; of the timeouts TotalTimeout counts. language
// is what is spoken, as in ISO 639-1; empty: the model finds out. It makes no request.
func NewSpeech(o Options, language string) (*Speech, error) {
	o.FirstByteTimeout = cmp.Or(o.TotalTimeout, wire.DefaultFirstByte) // nothing comes before all of it
	b, err := newBase(o, "audio/transcriptions")
	if err != nil {
		return nil, err
	}
	return &Speech{b, language}, nil
}

// Transcribe implements [llm.Transcriber].
func (m *Speech) Transcribe(ctx context.Context, s llm.Speech) (llm.Transcript, error) {
	body, kind, err := m.encodeForm(s)
	if err != nil {
		return llm.Transcript{}, &llm.Error{Kind: llm.Other, Provider: m.Provider(), Model: m.Name(), Message: err.Error(), Err: err}
	}
	var left atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(i httptrace.WroteRequestInfo) { left.Store(left.Load() || i.Err == nil) },
	})
	x := m.Begin(traced)
	defer x.End()
	whole, err := m.Fetch(x, kind, body)
	var t llm.Transcript
	if err == nil {
		t, err = parseSpeech(whole)
	}
	if err != nil {
		e := x.Fault(err)
		e.Provider, e.Model, e.Sent = m.Provider(), m.Name(), e.Sent || left.Load()
		return llm.Transcript{}, e
	}
	t.RequestID = x.RequestID()
	return t, nil
}

// encodeForm writes the request, and returns its type with the mark between its parts.
func (m *Speech) encodeForm(s llm.Speech) (body []byte, kind string, err error) {
	var b bytes.Buffer
	b.Grow(len(s.Data) + 1<<10)
	w := multipart.NewWriter(&b)
	for _, field := range [][2]string{{"model", m.Name()}, {"response_format", "json"}, {"language", m.language}} {
		if field[1] == "" {
			continue
		}
		if err := w.WriteField(field[0], field[1]); err != nil {
			return nil, "", fmt.Errorf("write the form: %w", err)
		}
	}
	part, err := w.CreateFormFile("file", s.Name)
	if err == nil {
		_, err = part.Write(adts.ToM4A(s.Data))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, "", fmt.Errorf("write the form: %w", err)
	}
	return b.Bytes(), w.FormDataContentType(), nil
}

// speechAnswer is the answer of OpenAI and of those who are like it. Usage is in
// seconds or in tokens; others say how long the sound was, or nothing.
type speechAnswer struct {
	Text     *string  `json:"text"`
	Duration *float64 `json:"duration"`
	Usage    *struct {
		Seconds *float64 `json:"seconds"`
		Input   int64    `json:"input_tokens"`
		Output  int64    `json:"output_tokens"`
		Details struct {
			Audio *int64 `json:"audio_tokens"`
			Text  int64  `json:"text_tokens"`
		} `json:"input_token_details"`
	} `json:"usage"`
}

func parseSpeech(whole []byte) (t llm.Transcript, err error) {
	var a speechAnswer
	if err := json.Unmarshal(whole, &a); err != nil || a.Text == nil {
		return t, fmt.Errorf("%w: no text in it", wire.ErrMalformed)
	}
	t.Text = strings.TrimSpace(*a.Text)
	t.Usage = a.usage()
	if err := t.Usage.Validate(); err != nil {
		return llm.Transcript{}, fmt.Errorf("%w: %w", wire.ErrMalformed, err)
	}
	return t, nil
}

func (a speechAnswer) usage() costs.Usage {
	u := costs.Usage{Source: costs.Reported, ServerTools: map[string]int64{}}
	switch {
	case a.Usage != nil && a.Usage.Seconds != nil:
		u.ServerTools[costs.AudioSecond] = ceilSeconds(*a.Usage.Seconds)
	case a.Usage != nil && a.Usage.Input > 0:
		u.Output, u.Input = a.Usage.Output, a.Usage.Details.Text
		u.ServerTools[costs.AudioToken] = a.Usage.Input - u.Input // all that is not text, also where nobody says which
		if n := a.Usage.Details.Audio; n != nil {
			u.ServerTools[costs.AudioToken] = max(*n, a.Usage.Input-u.Input)
		}
	case a.Duration != nil:
		u.ServerTools[costs.AudioSecond] = ceilSeconds(*a.Duration)
	default:
		return costs.Usage{Source: costs.Estimated}
	}
	return u
}

// ceilSeconds rounds up. What cannot be is a number that Validate refuses.
func ceilSeconds(s float64) int64 {
	if !(s >= 0) || s > costs.MaxTokens {
		return -1
	}
	return int64(math.Ceil(s))
}
