package model_test

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/simulators/model"
)

// form is what a client sends to have something transcribed.
func form(t *testing.T, name string, file []byte, fields map[string]string) (contentType string, body []byte) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for k, v := range fields {
		if err := w.WriteField(k, v); err != nil {
			t.Fatal(err)
		}
	}
	if name != "" {
		part, err := w.CreateFormFile("file", name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write(file); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), b.Bytes()
}

func (h *fixture) transcribe(contentType string, body []byte) (status int, answer string) {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.URL()+"/v1/audio/transcriptions", bytes.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Authorization", "Bearer key")
	resp, err := h.client.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// TestTranscriptions is the counterparty of row firstday A1.
func TestTranscriptions(t *testing.T) {
	t.Parallel()
	note := model.Voice("wie wird das Wetter?", 8470*time.Millisecond)
	whisper := map[string]string{"model": "whisper-1", "response_format": "json"}
	h := start(t, model.Options{Keys: []string{"key"}, Prices: map[string]model.Price{"whisper-1": {Second: 100_000_000}, "gpt-4o-transcribe": {Input: 3, Output: 10}}})
	for name, c := range map[string]struct {
		file   string
		data   []byte
		fields map[string]string
		status int
		want   string
		bill   model.Usage
		pico   int64
	}{
		"time":               {"note.ogg", note, whisper, 200, `{"text":"wie wird das Wetter?","usage":{"seconds":9,"type":"duration"}}`, model.Usage{Seconds: 9}, 900_000_000},
		"tokens":             {"note.OGG", note, map[string]string{"model": "gpt-4o-transcribe"}, 200, `{"text":"wie wird das Wetter?","usage":{"input_token_details":{"audio_tokens":90,"text_tokens":0},"input_tokens":90,"output_tokens":5,"total_tokens":95,"type":"tokens"}}`, model.Usage{Input: 90, Output: 5}, 320},
		"no name that tells": {"note.bin", note, whisper, 400, "Invalid file format. Supported formats: ['flac', 'm4a', 'mp3', 'mp4', 'mpeg', 'mpga', 'oga', 'ogg', 'wav', 'webm']", model.Usage{}, 0},
		"no sound":           {"note.ogg", []byte("words"), whisper, 400, "Invalid file format.", model.Usage{}, 0},
		"AAC":                {"note.m4a", model.VoiceAAC("hello", time.Second), whisper, 400, "Invalid file format.", model.Usage{}, 0},
		"an empty M4A":       {"note.m4a", []byte("\x00\x00\x00\x10ftypM4A \x00\x00\x00\x00"), whisper, 400, "Invalid file format.", model.Usage{}, 0},
		"AAC as M4A":         {"note.m4a", []byte{0xFF, 0xF1, 0x50, 0x80, 0x02, 0x1F, 0xFC}, whisper, 400, "Invalid file format.", model.Usage{}, 0},
		"too short":          {"note.ogg", model.Voice("a", 99*time.Millisecond), whisper, 400, `"code":"audio_too_short"`, model.Usage{}, 0},
		"too large":          {"note.ogg", bytes.Repeat([]byte("x"), 26_214_400), whisper, 413, "Maximum content size limit (26214400) exceeded (", model.Usage{}, 0},
		"no model":           {"note.ogg", note, nil, 400, "you must provide a model parameter", model.Usage{}, 0},
		"no file":            {"", nil, whisper, 400, "file is a required property", model.Usage{}, 0},
		"another format":     {"note.ogg", note, map[string]string{"model": "gpt-4o-transcribe", "response_format": "srt"}, 400, `"param":"response_format"`, model.Usage{}, 0},
		"another field":      {"note.ogg", note, map[string]string{"model": "whisper-1", "speed": "2"}, 400, "Unrecognized request argument supplied: speed", model.Usage{}, 0},
	} {
		kind, body := form(t, c.file, c.data, c.fields)
		status, answer := h.transcribe(kind, body)
		e := <-h.served
		if status != c.status || !strings.Contains(answer, c.want) || e.Usage != c.bill || e.Pico != c.pico || e.Protocol != model.OpenAITranscriptions {
			t.Errorf("%s: %d %s, billed %+v for %d", name, status, answer, e.Usage, e.Pico)
		}
		if (status == 200) != (e.Outcome == model.Complete) || (status == 200) != (e.Reported != nil) {
			t.Errorf("%s: %+v", name, e)
		}
	}
	if status, answer := h.transcribe("application/json", []byte(`{}`)); status != 400 || !strings.Contains(answer, "multipart") {
		t.Errorf("of JSON: %d %s", status, answer)
	}
}

func TestTranscriptionsFail(t *testing.T) {
	t.Parallel()
	h := start(t, model.Options{})
	kind, body := form(t, "note.ogg", model.Voice("hello", time.Second), map[string]string{"model": "whisper-1"})
	if err := h.Plan(
		model.Fault{Kind: model.FaultStatus, Status: 429, Protocol: model.OpenAITranscriptions, Match: "hello"},
		model.Fault{Kind: model.FaultNoUsage, Protocol: model.OpenAITranscriptions},
	); err != nil {
		t.Fatal(err)
	}
	if status, answer := h.transcribe(kind, body); status != 429 || !strings.Contains(answer, `"code":"rate_limit_exceeded"`) {
		t.Errorf("%d %s", status, answer)
	}
	status, answer := h.transcribe(kind, body)
	if status != 200 || answer != `{"text":"hello"}` {
		t.Errorf("without usage: %d %s", status, answer)
	}
	if bill := h.Bill(); bill.Usage.Seconds != 1 || bill.Entries[1].Reported != nil {
		t.Errorf("the bill: %+v", bill)
	}
	var recorded []model.Recorded
	b, _ := json.Marshal(h.Requests())
	if err := json.Unmarshal(b, &recorded); err != nil || len(recorded) != 2 || !bytes.Equal(recorded[0].Body, body) {
		t.Errorf("%d requests recorded, %v", len(recorded), err)
	}
}
