package gateway_test

import (
	"bytes"
	"context"
	"mime"
	"mime/multipart"
	"strings"
	"testing"
	"time"

	"parley/costs"
	"parley/gateway/gatewaytest"
	"parley/gateway/recording"
	"parley/gateway/settings"
	"parley/llm/adts"
	"parley/simulators/model"
	"parley/simulators/signal"
	"parley/simulators/slack"
	"parley/simulators/telegram"
)

// hearing lets a gateway listen by the model server, for $0.006 a minute.
func hearing(c *settings.Config) {
	sim := c.Providers["sim"]
	c.Providers["ears"] = settings.ProviderConfig{Kind: settings.KindOpenAI, BaseURL: strings.TrimSuffix(sim.BaseURL, "/v1") + "/v1"}
	c.Transcription = settings.TranscriptionConfig{Model: "ears/whisper-1", PricePerMinute: "0.006"}
}

// speak lets person 7001 say words in a voice note of 8.47 s, as the clients of the
// network record them, and returns the thread that it begins.
func speak(t *testing.T, env *gatewaytest.Env, n gatewaytest.Network, data []byte) (thread string) {
	t.Helper()
	var err error
	switch n {
	case gatewaytest.Slack:
		p := gatewaytest.SlackPerson(7001)
		var said slack.ActionResult
		said, err = env.Slack.Say(slack.DM(p), p, "", slack.SayOptions{Files: []slack.File{
			{Name: "audio_message.mp4", Mimetype: "video/mp4", Data: data, ClipMillis: 8470},
		}})
		thread = said.TS
	case gatewaytest.Signal:
		_, err = env.Signal.Say(signal.Chat{}, gatewaytest.SignalPerson(7001), "", signal.SayOptions{
			Attachments: []signal.Attachment{{ContentType: "audio/aac", Data: data}}, // as Android has it
		})
	case gatewaytest.Telegram:
		p := gatewaytest.TelegramPerson(7001)
		_, err = env.Telegram.Say(telegram.PrivateChat(p), p, "", telegram.SayOptions{Media: "voice", File: data, Seconds: 8})
	}
	if err != nil {
		t.Fatal(err)
	}
	return thread
}

// listened are the files that were sent to be transcribed.
func listened(t *testing.T, env *gatewaytest.Env) (files [][]byte) {
	t.Helper()
	for _, r := range env.Model.Requests() {
		if r.Protocol != model.OpenAITranscriptions {
			continue
		}
		_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if err != nil {
			t.Fatal(err)
		}
		form, err := multipart.NewReader(bytes.NewReader(r.Body), params["boundary"]).ReadForm(1 << 25)
		if err != nil {
			t.Fatal(err)
		}
		f, err := form.File["file"][0].Open()
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := b.ReadFrom(f); err != nil {
			t.Fatal(err)
		}
		files = append(files, b.Bytes())
	}
	return files
}

// A voice note reaches the model as its words, and its bytes the endpoint; it costs
// what a minute costs, in a row of its own, and what was recorded of it replays the
// same. (firstday A1)
func TestAVoiceNoteReachesTheModelAsWords(t *testing.T) {
	t.Parallel()
	for _, n := range gatewaytest.AllNetworks() {
		t.Run(string(n), func(t *testing.T) {
			t.Parallel()
			env := gatewaytest.Open(t, gatewaytest.Options{
				Networks: []gatewaytest.Network{n}, Change: hearing,
				Prices: map[string]model.Price{"whisper-1": {Second: 100_000_000}},
				Brain: func(_ context.Context, p *model.Prompt) model.Answer {
					if strings.Contains(p.LastText(), "wie wird das Wetter?") {
						return model.Reply(model.Say("sunny"))
					}
					return model.Reply(model.Say("what?"))
				},
			})
			gw := env.Start()
			place := env.Direct(n, 7001)
			note := model.Voice("wie wird das Wetter?", 8470*time.Millisecond)
			heard := note
			if n == gatewaytest.Signal {
				note = model.VoiceAAC("wie wird das Wetter?", 8470*time.Millisecond)
				heard = adts.ToM4A(note)
			}
			place.Thread = speak(t, env, n, note)
			d := gw.NextDelivered()
			place.AwaitWords("sunny")
			if got := listened(t, env); len(got) != 1 || !bytes.Equal(got[0], heard) {
				t.Errorf("%d files reached the endpoint", len(got))
			}
			asked := promptTexts(env)
			if want := `, made by a machine, which may have misheard]\nwie wird das Wetter?"`; !strings.Contains(asked[len(asked)-1], want) {
				t.Errorf("the model was asked %.2000q", asked[len(asked)-1])
			}
			var rows []costs.Entry
			file := recordingOf(t, gw, d.Session)
			r, err := recording.Read(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range r.Costs {
				if e.Labels.Purpose == costs.Transcription {
					rows = append(rows, e)
				}
			}
			if len(rows) != 1 || rows[0].Amount != 900_000_000 || rows[0].State != costs.Settled || !rows[0].Priced ||
				rows[0].Labels.Provider != "ears" || rows[0].Labels.Model != "whisper-1" {
				t.Errorf("the ledger has %+v", rows)
			}
			gw.AskAt(place, "thanks")
			gw.AwaitMetrics(
				`parley_llm_requests_total{agent_kind="transcription",model="whisper-1",outcome="ok",provider="ears"} 1`,
				`parley_llm_cost_usd_total{agent_kind="transcription",channel="`+string(n)+`",model="whisper-1",provider="ears"} 0.0009`,
			)
			replaysTheSame(t, recordingOf(t, gw, d.Session))
		})
	}
}
