package telegram_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/go-telegram/bot/models"

	"parley/channels"
	"parley/channels/channeltest"
	"parley/channels/telegram"
	"parley/runtest"
	sim "parley/simulators/telegram"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "42:secret-token-canary"

var (
	ann   = sim.Person{ID: 1001, Username: "ann", FirstName: "Ann"}
	bob   = sim.Person{ID: 1002, Username: "bobby", FirstName: "Bob"}
	super = sim.Chat{ID: -1001000000500, Kind: sim.Supergroup, Title: "Super"}
	forum = sim.Chat{ID: -1001000000600, Kind: sim.Forum, Title: "Forum"}
	team  = sim.Chat{ID: -500, Kind: sim.Group, Title: "Team"}
)

func TestTelegramIsAChannel(t *testing.T) {
	for name, open := range map[string]func(t testing.TB) channeltest.Harness{
		"by polling":              func(t testing.TB) channeltest.Harness { return newRig(t) },
		"by webhook":              func(t testing.TB) channeltest.Harness { return newHookRig(t, 1) },
		"by webhook, ten at once": func(t testing.TB) channeltest.Harness { return newHookRig(t, 10) },
	} {
		t.Run(name, func(t *testing.T) {
			channeltest.Run(t, channeltest.Features{Edits: true, Streams: true, Typing: true, Reacts: true, LostAnswer: true, Files: true, Forwards: true, Contacts: true, Buttons: true, Private: true, Proxied: true}, open)
		})
	}
}

// fixture is a simulated Telegram with our bot on it.
type fixture struct {
	*sim.Server
	*channeltest.Clock
}

var (
	_ channeltest.FileHarness     = (*fixture)(nil)
	_ channeltest.ReactionHarness = (*fixture)(nil)
	_ channeltest.ForwardHarness  = (*fixture)(nil)
	_ channeltest.ContactHarness  = (*fixture)(nil)
	_ channeltest.PrivateHarness  = (*fixture)(nil)
)

func newRig(t testing.TB) *fixture {
	t.Helper()
	return newRigWith(t, func(*sim.Options) {})
}

func newRigWith(t testing.TB, change func(*sim.Options)) *fixture {
	t.Helper()
	clock := &channeltest.Clock{}
	o := sim.Options{
		FirstUpdateID: 1000, Seed: 1, WebhookRetry: time.Millisecond, Pace: -1, Now: clock.Now,
		Bots: []sim.Bot{
			{Token: token, Username: "Parley_bot", Name: "Parley", CanReadAllGroupMessages: true},
			{Token: "43:another", Username: "other_bot"},
		},
	}
	change(&o)
	s, err := sim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	runtest.Serve(t, s)
	return &fixture{s, clock}
}

func (r *fixture) Open(t testing.TB) channels.Channel { return r.open(t) }

// OpenViaProxy opens a channel to a Telegram that only the proxy can find.
func (r *fixture) OpenViaProxy(t testing.TB, p *channeltest.Proxy, over channels.Proxy) channels.Channel {
	return r.open(t, r.behind(p, over))
}

func (h *hookRig) OpenViaProxy(t testing.TB, p *channeltest.Proxy, over channels.Proxy) channels.Channel {
	return h.open(t, h.behind(p, over))
}

func (r *fixture) Callers() []string { return nil }

func (r *fixture) behind(p *channeltest.Proxy, over channels.Proxy) func(*telegram.Options) {
	p.MapHost("telegram.invalid", strings.TrimPrefix(r.URL(), "http://"))
	return func(o *telegram.Options) { o.APIURL, o.Proxy = "http://telegram.invalid", over }
}

func (r *fixture) open(t testing.TB, change ...func(*telegram.Options)) *telegram.Channel {
	t.Helper()
	o := telegram.Options{
		Common: channels.Common{Name: "tg", MinPause: time.Millisecond, MaxPause: 5 * time.Millisecond, Now: r.Now},
		Token:  channels.NewSecret(token), APIURL: r.URL(), ConflictPause: 5 * time.Millisecond,
		PollTimeout: 5 * time.Second, SendTimeout: 5 * time.Second, Pace: -1, Reactions: channels.Reactions{Working: "👀", Done: "👍"},
	}
	for _, c := range change {
		c(&o)
	}
	ch, err := telegram.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ch.Close() })
	return ch
}

// hookRig is a rig whose bot has a webhook: a listener that stays, behind which
// one channel follows another, as processes do.
type hookRig struct {
	*fixture
	front *httptest.Server
	limit int // connections
	now   atomic.Pointer[telegram.Channel]
}

func newHookRig(t testing.TB, limit int) *hookRig {
	t.Helper()
	h := &hookRig{fixture: newRig(t), limit: limit}
	h.front = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ch := h.now.Load()
		if ch == nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		path, handler := ch.Hook()
		if r.URL.Path != path {
			t.Errorf("a request came for %s", r.URL.Path)
		}
		handler.ServeHTTP(w, r)
	}))
	h.front.Config.SetKeepAlivesEnabled(false) // one case counts goroutines
	h.front.Start()
	t.Cleanup(h.front.Close)
	return h
}

func (h *hookRig) Open(t testing.TB) channels.Channel { return h.open(t) }

func (h *hookRig) open(t testing.TB, change ...func(*telegram.Options)) *telegram.Channel {
	t.Helper()
	hooked := func(o *telegram.Options) {
		o.Webhook = telegram.Webhook{URL: h.front.URL + "/front", MaxConnections: h.limit}
	}
	ch := h.fixture.open(t, append([]func(*telegram.Options){hooked}, change...)...)
	h.now.Store(ch)
	return ch
}

func (r *fixture) Say(t testing.TB, name, text string) {
	t.Helper()
	p := ann
	p.FirstName = name
	r.say(t, sim.PrivateChat(p), p, text, sim.SayOptions{})
}

func (r *fixture) say(t testing.TB, c sim.Chat, p sim.Person, text string, o sim.SayOptions) sim.ActionResult {
	t.Helper()
	said, err := r.Server.Say(c, p, text, o)
	if err != nil {
		t.Fatal(err)
	}
	return said
}

func (r *fixture) SayUnreadable(t testing.TB) {
	t.Helper()
	if _, err := r.Inject("", json.RawMessage(`{"message":{"message_id":"not a number","from":{"id":7,"is_bot":false,"first_name":"Ann"},"chat":[]}}`)); err != nil {
		t.Fatal(err)
	}
}

func (r *fixture) Acknowledged() int { return r.Totals().Confirmed }

func (r *fixture) AwaitAcknowledged(ctx context.Context, n int) error {
	_, err := r.Await(ctx, func(b sim.Book) bool { return b.Totals.Confirmed >= n })
	return err
}

func (r *fixture) LimitNext(t testing.TB, d time.Duration) {
	t.Helper()
	r.plan(t, sim.Fault{Trouble: sim.TooManyRequests, Method: "sendMessage", Next: 1, RetryAfter: int(d.Seconds())})
}

func (r *fixture) LimitNextEdit(t testing.TB, d time.Duration) {
	t.Helper()
	r.plan(t, sim.Fault{Trouble: sim.TooManyRequests, Method: "editMessageText", Next: 1, RetryAfter: int(d.Seconds())})
}

func (r *fixture) Buttons(t testing.TB, messageID string) (says []string) {
	t.Helper()
	for _, m := range r.Books().Messages {
		if knownBy(m) != messageID {
			continue
		}
		var k models.InlineKeyboardMarkup
		if raw := m.Versions[len(m.Versions)-1].Markup; raw != "" {
			if err := json.Unmarshal([]byte(raw), &k); err != nil {
				t.Fatal(err)
			}
		}
		for _, row := range k.InlineKeyboard {
			for _, b := range row {
				says = append(says, b.CallbackData)
			}
		}
	}
	return says
}

func (r *fixture) PressButton(t testing.TB, messageID, says string) {
	t.Helper()
	for _, m := range r.Books().Messages {
		if knownBy(m) != messageID {
			continue
		}
		_, err := r.press(m, says)
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (r *fixture) press(m sim.MessageEntry, says string) (sim.ActionResult, error) {
	if m.Receiver != 0 {
		return r.PressEphemeral(ann, m.ChatID, m.EphemeralID, says)
	}
	return r.Press(ann, m.ChatID, m.MessageID, says, sim.PressOptions{})
}

// knownBy is the id by which channels know a message.
func knownBy(m sim.MessageEntry) string { return strconv.FormatInt(m.MessageID+m.EphemeralID, 10) }

// SayInGroup has the bot be an administrator there.
func (r *fixture) SayInGroup(t testing.TB, name, text string) {
	t.Helper()
	p := ann
	p.FirstName = name
	if _, err := r.SetStanding(super, bob, "Parley_bot", "administrator"); err != nil {
		t.Fatal(err)
	}
	r.say(t, super, p, text, sim.SayOptions{})
}

func (r *fixture) SeenBy(t testing.TB, messageID string) string {
	t.Helper()
	for _, m := range r.Books().Messages {
		if knownBy(m) == messageID && m.Receiver != 0 {
			return strconv.FormatInt(m.Receiver, 10)
		}
	}
	return ""
}

func (r *fixture) AwaitNoButtons(ctx context.Context, messageID string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // only a test that fails waits for so long
	defer cancel()
	_, err := r.Await(ctx, func(b sim.Book) bool {
		for _, m := range b.Messages {
			if knownBy(m) == messageID {
				return m.Versions[len(m.Versions)-1].Markup == ""
			}
		}
		return false
	})
	return err
}

func (r *fixture) Attempts() (n int) {
	for _, c := range r.Books().Calls {
		if slices.Contains([]string{"sendMessage", "editMessageText"}, c.Method) {
			n++
		}
	}
	return n
}

func (r *fixture) SayPicture(t testing.TB, name, text string, data []byte) {
	t.Helper()
	p := ann
	p.FirstName = name
	r.say(t, sim.PrivateChat(p), p, text, sim.SayOptions{Media: "photo", File: data})
}

func (r *fixture) Forward(t testing.TB, name, author, text string) {
	t.Helper()
	p := ann
	p.FirstName = name
	r.say(t, sim.PrivateChat(p), p, text, sim.SayOptions{ForwardedFrom: &sim.Person{ID: 6, FirstName: author}})
}

func (r *fixture) ShareContact(t testing.TB, name, contact, number string) {
	t.Helper()
	message := map[string]any{
		"message_id": 900, "date": 1, "chat": map[string]any{"id": ann.ID, "type": "private"}, "from": map[string]any{"id": ann.ID, "first_name": name},
		"contact": map[string]any{"phone_number": number, "first_name": contact},
	}
	raw, err := json.Marshal(map[string]any{"message": message})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Inject("", raw); err != nil {
		t.Fatal(err)
	}
}

func (r *fixture) LoseNextAnswer(t testing.TB) {
	t.Helper()
	r.plan(t, sim.Fault{Trouble: sim.Ambiguous, Method: "sendMessage", Next: 1})
}

func (r *fixture) LimitNextFile(t testing.TB, d time.Duration) {
	t.Helper()
	r.plan(t, sim.Fault{Trouble: sim.TooManyRequests, Method: "sendDocument", Next: 1, RetryAfter: int(d.Seconds())})
}

func (r *fixture) LoseNextFile(t testing.TB) {
	t.Helper()
	r.plan(t, sim.Fault{Trouble: sim.Ambiguous, Method: "sendDocument", Next: 1})
}

func (r *fixture) plan(t testing.TB, f sim.Fault) {
	t.Helper()
	if err := r.Plan(f); err != nil {
		t.Fatal(err)
	}
}

func (r *fixture) Sent() []string {
	var out []string
	for _, m := range r.Books().Messages {
		out = append(out, m.Text())
	}
	return out
}

func (r *fixture) SentFiles() []channeltest.SentFile {
	var out []channeltest.SentFile
	for i, m := range r.Books().Messages {
		if d := m.Document; d != nil {
			out = append(out, channeltest.SentFile{Name: d.Name, Data: r.Content(d.FileID), At: i})
		}
	}
	return out
}
