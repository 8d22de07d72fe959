package model_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"strings"
	"testing"

	"parley/runtest"
	"parley/simulators/model"
)

// flag is a picture that is red above and, for a quarter of it, white below.
func flag(t *testing.T) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 40, 20))
	for y := range 20 {
		for x := range 40 {
			c := color.RGBA{210, 40, 40, 255}
			if y >= 15 {
				c = color.RGBA{255, 255, 255, 255}
			}
			m.SetRGBA(x, y, c)
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// In each protocol the demonstration sees the bytes of a picture.
func TestTheDemonstrationSeesPictures(t *testing.T) {
	t.Parallel()
	data := base64.StdEncoding.EncodeToString(flag(t))
	for path, body := range map[string]string{
		"/v1/messages":         `{"model":"demo","max_tokens":100,"messages":[{"role":"user","content":[{"type":"text","text":"What is it?"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":%q}}]}]}`,
		"/v1/chat/completions": `{"model":"demo","messages":[{"role":"user","content":[{"type":"text","text":"What is it?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,%s"}}]}]}`,
		"/v1/responses":        `{"model":"demo","store":false,"input":[{"role":"user","content":[{"type":"input_text","text":"What is it?"},{"type":"input_image","image_url":"data:image/png;base64,%s"}]}]}`,
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			s := model.New(model.Options{Brain: model.Demo(0)})
			runtest.Serve(t, s)
			body = fmt.Sprintf(strings.Replace(body, "%q", `"%s"`, 1), data)
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Anthropic-Version", "2023-06-01")
			r.Header.Set("X-Api-Key", "key")
			r.Header.Set("Authorization", "Bearer key")
			a, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = a.Body.Close() }()
			got, err := io.ReadAll(a.Body)
			if err != nil || !strings.Contains(string(got), "I see a picture of 40 × 20 points (PNG): mostly red, some white.") {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
}

func TestTheDemonstrationSaysWhatItCannotSee(t *testing.T) {
	t.Parallel()
	p := later("What is it?")
	p.Messages[2].Pictures = []model.Picture{{MediaType: "image/webp", Data: []byte("RIFF")}}
	if a := model.Demo(0)(t.Context(), p); !strings.HasPrefix(a.Blocks[0].Text, "I see a picture, and cannot make out anything in it") {
		t.Errorf("%+v", a.Blocks)
	}
}
