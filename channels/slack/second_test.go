package slack_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	goslack "github.com/slack-go/slack"
	"github.com/slack-go/slack/slacktest"

	"parley/channels"
	"parley/channels/slack"
	"parley/runtest"
	"parley/sessionkeys"
)

// The simulator is ours, so it could share a mistake with the adapter. slack-go
// brings a server of its own, which was written by others: this is what it says.
// It is a small one. It speaks auth.test, users.info, chat.postMessage and the way
// to a WebSocket; but what comes on that are messages of RTM, which Slack has given
// up for apps like ours, without envelope or acknowledgement. It has no
// chat.update, streams, conversations.history or .replies, nor any of files.*,
// no signed requests, checks no token, and refuses nothing. What of it is missing
// here, the conformance suite over the simulator covers.
func TestSlackGosOwnServerUnderstandsWhatWeSend(t *testing.T) {
	t.Parallel()
	s := startTheirs(t)
	ch := s.channel(t)
	at := sessionkeys.Address{Channel: slack.Network, Account: "T024BE7LH/W012A3CDE", Kind: sessionkeys.Group, Peer: "C024BE92L", Thread: "1700000000.000100"}
	body := ch.Render("**Hello** <!channel> & [a link](https://example.org)")[0]
	sent, err := ch.Send(t.Context(), channels.Reply{To: at, Body: body, ID: "answer/0"})
	if err != nil || sent.MessageID == "" {
		t.Fatalf("Send gave %+v, %v", sent, err)
	}
	form := s.form("/chat.postMessage")
	if form.Get("channel") != at.Peer || form.Get("thread_ts") != at.Thread || form.Get("text") != body.Text {
		t.Errorf("it got %v", form)
	}
	// Whatever Slack does by itself at the time, it is told.
	if form.Get("unfurl_links") != "false" || form.Get("unfurl_media") != "false" || form.Get("parse") != "none" {
		t.Errorf("S22: it may show links and look for names: %v", form)
	}
	if form.Has("token") {
		t.Error("a token is in the form, where proxies log it")
	}
	// It reads blocks as the library does, and hands the message on to who listens.
	m := s.heard(t)
	if m.Text != body.Text || m.ThreadTimestamp != at.Thread || len(m.Blocks.BlockSet) != 1 || m.Blocks.BlockSet[0].BlockType() != goslack.MBTMarkdown {
		t.Errorf("it understood %+v", m)
	}
	if strings.Contains(m.Text, "<!channel>") {
		t.Errorf("it would call everybody: %s", m.Text)
	}
	var blocks []struct{ Type, Text string }
	if err := json.Unmarshal([]byte(form.Get("blocks")), &blocks); err != nil || len(blocks) != 1 || blocks[0].Type != "markdown" || !strings.HasPrefix(blocks[0].Text, "**Hello** ") {
		t.Errorf("blocks %v, %v", blocks, err)
	}
	var metadata struct {
		Type    string         `json:"event_type"`
		Payload map[string]any `json:"event_payload"`
	}
	if err := json.Unmarshal([]byte(form.Get("metadata")), &metadata); err != nil || metadata.Type != "parley_message" || metadata.Payload["id"] != "answer/0" {
		t.Errorf("metadata %+v, %v", metadata, err)
	}
}

// receive has ch receive until the test ends, and returns what it takes once it does.
func (s *theirs) receive(t *testing.T, ch *slack.Channel) <-chan channels.Message {
	t.Helper()
	taken := make(chan channels.Message, 1)
	runtest.Start(t, "Receive", func(ctx context.Context) error {
		return ch.Receive(ctx, func(_ context.Context, m channels.Message) error {
			taken <- m
			return nil
		})
	})
	<-s.up
	return taken
}

// Events do not come in envelopes there, so they come in requests; names and the
// bot's own account are as that server says.
func TestSlackGosOwnServerTellsWhoWeAre(t *testing.T) {
	t.Parallel()
	s := startTheirs(t)
	ch := s.channel(t)
	taken := s.receive(t, ch)
	var m channels.Message
	for i := range 240 { // no event waits for a name, which is asked for: one of the next has it
		p := hello(time.Now())
		p.body = strings.Replace(p.body, "hello", "<@W012A3CDE> hello", 1)
		p.body = strings.Replace(p.body, "000100", fmt.Sprintf("%06d", i+1), 1)
		if w := bring(t.Context(), ch, p); w.Code != http.StatusOK {
			t.Fatalf("answered %d", w.Code)
		}
		if m = <-taken; m.Sender.Name != "" {
			break
		}
	}
	if m.Text != "hello" || !strings.HasSuffix(m.Address.Account, "/W012A3CDE") || m.Sender.Name == "" {
		t.Errorf("it came as %+v", m)
	}
}

// abuse M5: a shared post is its author's, and not said by whoever shares it; what
// Slack shows of a link is nobody's.
func TestASharedPostIsItsAuthors(t *testing.T) {
	t.Parallel()
	s := startTheirs(t)
	ch := s.channel(t)
	taken := s.receive(t, ch)
	mallory := channels.Sender{ID: "U0MAL", Name: "Mallory"}
	for i, c := range []struct {
		fields    string
		text      string
		forwarded []channels.Quote
	}{
		{`"text":"","attachments":[{"is_share":true,"text":"/new","author_id":"U0MAL","author_name":"Mallory","fallback":"x"}]`, "", []channels.Quote{{Text: "/new", Author: mallory}}},
		{`"text":"see","attachments":[{"is_msg_unfurl":true,"text":"/stop","author_id":"U0MAL","author_name":"Mallory"}]`, "see", []channels.Quote{{Text: "/stop", Author: mallory}}},
		{`"text":"see","attachments":[{"text":"a page","fallback":"page"}]`, "see", nil},
		{`"text":"","attachments":[{"fallback":"card"}]`, "", []channels.Quote{{Text: "card"}}},
		{`"text":"","attachments":[{"is_share":true,"text":"mine","author_id":"W012A3CDE"}]`, "", []channels.Quote{{Text: "mine", FromBot: true, Author: channels.Sender{ID: "W012A3CDE"}}}},
	} {
		p := hello(time.Now())
		p.body = strings.Replace(p.body, `"text":"hello"`, c.fields, 1)
		p.body = strings.Replace(p.body, "000100", fmt.Sprintf("%06d", i+1), 1)
		if w := bring(t.Context(), ch, p); w.Code != http.StatusOK {
			t.Fatalf("answered %d", w.Code)
		}
		if m := <-taken; m.Kind != channels.Said || m.Text != c.text || !slices.Equal(m.Forwarded, c.forwarded) {
			t.Errorf("%s came as %s %q, passed on %+v", c.fields, m.Kind, m.Text, m.Forwarded)
		}
	}
}

// theirs is slack-go's server, with what it was sent.
type theirs struct {
	*slacktest.Server
	listener *websocket.Conn
	client   *http.Transport
	up       chan struct{}

	mu    sync.Mutex
	forms map[string]url.Values // by path, the last
}

func startTheirs(t *testing.T) *theirs {
	t.Helper()
	s := &theirs{Server: slacktest.NewTestServer(), client: &http.Transport{}, up: make(chan struct{}), forms: map[string]url.Values{}}
	s.Start()
	t.Cleanup(s.Stop)
	t.Cleanup(s.client.CloseIdleConnections)
	conn, resp, err := websocket.DefaultDialer.DialContext(t.Context(), s.GetWSURL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	s.listener = conn
	t.Cleanup(func() {
		bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
		for err = conn.WriteControl(websocket.CloseMessage, bye, time.Now().Add(patience)); err == nil; {
			_, _, err = conn.ReadMessage() // until it says the same
		}
		_ = conn.Close()
	})
	return s
}

// RoundTrip keeps what is sent.
func (s *theirs) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.forms[req.URL.Path] = form
	s.mu.Unlock()
	again := req.Clone(req.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	return s.client.RoundTrip(again)
}

func (s *theirs) form(path string) url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forms[path]
}

// heard is the next message that somebody who listens gets.
func (s *theirs) heard(t *testing.T) goslack.Message {
	t.Helper()
	_ = s.listener.SetReadDeadline(time.Now().Add(patience))
	var m goslack.Message
	for m.Type != "message" {
		if err := s.listener.ReadJSON(&m); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func (s *theirs) channel(t *testing.T) *slack.Channel {
	t.Helper()
	ch, err := slack.New(slack.Options{
		Common: channels.Common{Name: "sl", Observer: watch{up: s.up}},
		Mode:   slack.Events, BotToken: channels.NewSecret(botToken), SigningSecret: channels.NewSecret(signing),
		APIURL: s.GetAPIURL(), HTTPClient: &http.Client{Transport: s}, AnswerWithin: patience,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ch.Close() })
	return ch
}
