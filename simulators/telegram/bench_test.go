package telegram_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	sim "parley/simulators/telegram"
)

// BenchmarkTurn is one message in, fetched and confirmed, and one answer out:
// the server's own cost, without sockets, and over loopback.
func BenchmarkTurn(b *testing.B) {
	options := sim.Options{Bots: []sim.Bot{{Token: token}}, Keep: 10_000, History: 1000}
	b.Run("handler", func(b *testing.B) {
		s, err := sim.New(options)
		if err != nil {
			b.Fatal(err)
		}
		h := s.Handler()
		turns(b, s, func(path, body string) string {
			q := httptest.NewRequestWithContext(b.Context(), http.MethodPost, path, strings.NewReader(body))
			q.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, q)
			return w.Body.String()
		})
	})
	b.Run("loopback", func(b *testing.B) {
		s, err := sim.New(options)
		if err != nil {
			b.Fatal(err)
		}
		server := httptest.NewServer(s.Handler())
		defer server.Close()
		client := server.Client()
		turns(b, s, func(path, body string) string {
			q, err := http.NewRequestWithContext(b.Context(), http.MethodPost, server.URL+path, strings.NewReader(body))
			if err != nil {
				b.Fatal(err)
			}
			q.Header.Set("Content-Type", "application/json")
			res, err := client.Do(q)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = res.Body.Close() }()
			raw, err := io.ReadAll(res.Body)
			if err != nil {
				b.Fatal(err)
			}
			return string(raw)
		})
	})
}

func turns(b *testing.B, s *sim.Server, post func(path, body string) string) {
	b.ReportAllocs()
	dm := sim.PrivateChat(ann)
	for b.Loop() {
		said, err := s.Say(dm, ann, "how are you today, bot?", sim.SayOptions{})
		if err != nil {
			b.Fatal(err)
		}
		offset := strconv.FormatInt(said.Updates[0].UpdateID, 10)
		if r := post("/bot"+token+"/getUpdates", `{"timeout":50,"limit":100,"offset":`+offset+`}`); !strings.Contains(r, offset) {
			b.Fatal(r)
		}
		if r := post("/bot"+token+"/sendMessage", `{"chat_id":1001,"text":"very well, thank you"}`); !strings.HasPrefix(r, `{"ok":true`) {
			b.Fatal(r)
		}
	}
	if s.Totals().Sent != b.N {
		b.Fatalf("%d sent in %d turns", s.Totals().Sent, b.N)
	}
}
