package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"parley/simulators/internal/stage"
)

// maxSpeech is how large a request for a transcription may be: 25 MiB, all of it.
const maxSpeech = 26_214_400

// minSpeech is how long a sound must be.
const minSpeech = 100 * time.Millisecond

// speechFormats are the endings of names that are taken, which tell what a file is
// before its content does.
var speechFormats = []string{"flac", "m4a", "mp3", "mp4", "mpeg", "mpga", "oga", "ogg", "wav", "webm"}

// speech is a request for a transcription.
type speech struct {
	model, format string
	words         string
	length        time.Duration
}

// transcribe answers a request to /v1/audio/transcriptions.
func (x *exchange) transcribe() {
	body := x.read(maxSpeech, tooLoud(x.r.ContentLength))
	if body == nil {
		return
	}
	sp := &speech{}
	refusal, _ := stage.Refused[Refusal](func() { sp.parse(x.r.Header.Get("Content-Type"), body) })
	x.entry.Model = sp.model
	if refusal != nil {
		x.refuse(refusal)
		return
	}
	p := &Prompt{ID: x.entry.ID, Protocol: x.entry.Protocol, Model: sp.model, Messages: []Message{{Role: User, Text: sp.words}}}
	x.fault = x.s.plan.pick(p)
	x.entry.Fault = x.fault.Kind
	if x.failHead() {
		return
	}
	x.full = sp.usage()
	x.start = x.full
	text := sp.body(x.full, x.fault.Kind == FaultNoUsage)
	known := toldAll
	if x.fault.Kind == FaultNoUsage {
		known = toldNothing
	}
	x.answer = &stream{text: text, events: []event{{end: len(text), sent: 1, told: known}}, total: 1}
	x.play()
}

// tooLoud returns what the API says of a request of n bytes, n < 0 when nobody knows.
func tooLoud(n int64) *Refusal {
	return &Refusal{
		Status: http.StatusRequestEntityTooLarge, Type: "server_error",
		Message: fmt.Sprintf("Maximum content size limit (%d) exceeded (%d bytes read)", maxSpeech, max(n, maxSpeech+1)),
	}
}

// parse reads the form, as strictly as the API does.
func (sp *speech) parse(contentType string, body []byte) {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		panic(invalid("Could not parse multipart form"))
	}
	var file []byte
	var name string
	form := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			panic(invalid("Could not parse multipart form"))
		}
		content, err := io.ReadAll(part)
		if err != nil {
			panic(invalid("Could not parse multipart form"))
		}
		switch part.FormName() {
		case "model":
			sp.model = string(content)
		case "file":
			file, name = content, part.FileName()
		case "response_format":
			sp.format = string(content)
		case "language", "prompt", "temperature", "timestamp_granularities[]", "include[]", "chunking_strategy", "stream":
		default:
			panic(&Refusal{Status: 400, Message: "Unrecognized request argument supplied: " + part.FormName()})
		}
	}
	sp.judge(name, file)
}

func (sp *speech) judge(name string, file []byte) {
	switch {
	case sp.model == "":
		panic(invalid("you must provide a model parameter"))
	case name == "":
		panic(invalid("file is a required property"))
	case sp.format != "" && sp.format != "json":
		panic(invalidParam("response_format", "unsupported_value", "response_format '"+sp.format+"' is not compatible with model '"+sp.model+"'. Use 'json' instead."))
	}
	ending := strings.TrimPrefix(strings.ToLower(path.Ext(name)), ".")
	var ok bool
	sp.words, sp.length, ok = decodeVoice(file)
	switch {
	case !slices.Contains(speechFormats, ending), !ok:
		panic(invalid("Invalid file format. Supported formats: ['" + strings.Join(speechFormats, "', '") + "']"))
	case sp.length < minSpeech:
		panic(&Refusal{Status: 400, Message: "Audio file is too short. Minimum audio length is 0.1 seconds.", Param: "file", Code: "audio_too_short"})
	}
}

// billsTokens reports whether the model bills tokens, as those of the line gpt-4o do; the
// others bill time.
func (sp *speech) billsTokens() bool { return strings.HasPrefix(sp.model, "gpt-") }

// usage returns what the call costs: whole seconds, rounded up, or ten tokens a second.
func (sp *speech) usage() Usage {
	seconds := int64((sp.length + time.Second - 1) / time.Second)
	if sp.billsTokens() {
		return Usage{Input: 10 * seconds, Output: int64(tokens(len(sp.words)))}
	}
	return Usage{Seconds: seconds}
}

// body returns the answer, with the usage unless it is hidden.
func (sp *speech) body(u Usage, hidden bool) []byte {
	answer := map[string]any{"text": sp.words}
	switch {
	case hidden:
	case sp.billsTokens():
		answer["usage"] = map[string]any{
			"type": "tokens", "input_tokens": u.Input, "output_tokens": u.Output, "total_tokens": u.Input + u.Output,
			"input_token_details": map[string]any{"text_tokens": 0, "audio_tokens": u.Input},
		}
	default:
		answer["usage"] = map[string]any{"type": "duration", "seconds": u.Seconds}
	}
	b, err := json.Marshal(answer)
	if err != nil { // texts and numbers only: cannot happen
		return []byte("{}")
	}
	return b
}
