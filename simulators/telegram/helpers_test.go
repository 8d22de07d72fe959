package telegram_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/runtest"
	sim "parley/simulators/telegram"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	token  = "42:secret-token"
	token2 = "43:other-token"
)

var (
	ann   = sim.Person{ID: 1001, Username: "ann", FirstName: "Ann", Language: "en"}
	bob   = sim.Person{ID: 1002, Username: "bobby", FirstName: "Bob"}
	team  = sim.Chat{ID: -500, Kind: sim.Group, Title: "Team"}
	super = sim.Chat{ID: -1001000000500, Kind: sim.Supergroup, Title: "Super"}
	forum = sim.Chat{ID: -1001000000600, Kind: sim.Forum, Title: "Forum"}
)

// platform is a running server with a plain HTTP client.
type platform struct {
	*sim.Server
	t      *testing.T
	client *http.Client
}

// start runs a server with two bots for the length of the test.
func start(t *testing.T, change ...func(*sim.Options)) *platform {
	t.Helper()
	o := sim.Options{
		Seed: 7, FirstUpdateID: 1000, Pace: -1,
		Bots: []sim.Bot{{Token: token, Username: "parley_bot", Name: "Parley"}, {Token: token2, Username: "other_bot", CanReadAllGroupMessages: true}},
	}
	for _, c := range change {
		c(&o)
	}
	s, err := sim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	p := &platform{Server: s, t: t, client: &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(p.client.CloseIdleConnections)
	runtest.Serve(t, s)
	return p
}

// reply is any answer of the Bot API.
type reply struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	ErrorCode   int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter      int   `json:"retry_after"`
		MigrateToChatID int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

type args = map[string]any

// try calls a method with a JSON body.
func (p *platform) try(ctx context.Context, token, method string, a args) (reply, error) {
	if a == nil {
		a = args{}
	}
	body, err := json.Marshal(a)
	if err != nil {
		return reply{}, err
	}
	return p.post(ctx, token, method, body)
}

// post calls a method with a body that is said to be JSON.
func (p *platform) post(ctx context.Context, token, method string, body []byte) (reply, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL()+"/bot"+token+"/"+method, bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	q.Header.Set("Content-Type", "application/json")
	res, err := p.client.Do(q)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return reply{}, err
	}
	var r reply
	if err := json.Unmarshal(raw, &r); err != nil {
		return reply{}, err
	}
	if !r.OK && r.ErrorCode != res.StatusCode {
		p.t.Errorf("%s: status %d, error_code %d", method, res.StatusCode, r.ErrorCode)
	}
	return r, nil
}

// call is try for calls that reach the server.
func (p *platform) call(method string, a args) reply {
	p.t.Helper()
	r, err := p.try(p.t.Context(), token, method, a)
	if err != nil {
		p.t.Fatalf("%s: %v", method, err)
	}
	return r
}

// send sends a message and returns its id.
func (p *platform) send(chat int64, text string) int64 {
	p.t.Helper()
	r := p.call("sendMessage", args{"chat_id": chat, "text": text})
	if !r.OK {
		p.t.Fatalf("sendMessage: %s", r.Description)
	}
	return p.message(r).MessageID
}

type message struct {
	MessageID       int64        `json:"message_id"`
	MessageThreadID int64        `json:"message_thread_id"`
	Text            string       `json:"text"`
	Caption         string       `json:"caption"`
	Entities        []sim.Entity `json:"entities"`
	MediaGroupID    string       `json:"media_group_id"`
	From            *sim.Person  `json:"from"`
	SenderChat      *sim.Chat    `json:"sender_chat"`
	AutoForward     bool         `json:"is_automatic_forward"`
	MigrateTo       int64        `json:"migrate_to_chat_id"`
	MigrateFrom     int64        `json:"migrate_from_chat_id"`
	ReplyTo         *message     `json:"reply_to_message"`
	EditDate        int64        `json:"edit_date"`
	Document        *struct {
		FileID string `json:"file_id"`
	} `json:"document"`
}

type update struct {
	UpdateID int64    `json:"update_id"`
	Message  *message `json:"message"`
	Edited   *message `json:"edited_message"`
	Callback *struct {
		ID      string          `json:"id"`
		Data    string          `json:"data"`
		Message json.RawMessage `json:"message"`
	} `json:"callback_query"`
	MyChatMember *struct {
		New struct {
			Status  string `json:"status"`
			CanSend *bool  `json:"can_send_messages"`
		} `json:"new_chat_member"`
	} `json:"my_chat_member"`
	Reaction json.RawMessage `json:"message_reaction"`
}

func (p *platform) message(r reply) message {
	p.t.Helper()
	var m message
	if err := json.Unmarshal(r.Result, &m); err != nil {
		p.t.Fatalf("decode message %s: %v", r.Result, err)
	}
	return m
}

// poll fetches updates of the first bot without waiting.
func (p *platform) poll(a args) []update {
	p.t.Helper()
	r := p.call("getUpdates", a)
	if !r.OK {
		p.t.Fatalf("getUpdates: %s", r.Description)
	}
	return p.updates(r)
}

func (p *platform) updates(r reply) []update {
	p.t.Helper()
	var us []update
	if err := json.Unmarshal(r.Result, &us); err != nil {
		p.t.Fatalf("decode updates %s: %v", r.Result, err)
	}
	return us
}

func ids(us []update) []int64 {
	out := []int64{}
	for _, u := range us {
		out = append(out, u.UpdateID)
	}
	return out
}

// say lets somebody speak and fails the test when they cannot.
func (p *platform) say(c sim.Chat, who sim.Person, text string, o ...sim.SayOptions) sim.ActionResult {
	p.t.Helper()
	var opts sim.SayOptions
	if len(o) > 0 {
		opts = o[0]
	}
	said, err := p.Say(c, who, text, opts)
	if err != nil {
		p.t.Fatal(err)
	}
	return said
}

// awaitPoll returns when the first bot waits in a long poll.
func (p *platform) awaitPoll() {
	p.t.Helper()
	if _, err := p.Await(soon(p.t), func(b sim.Book) bool { return b.Polling["parley_bot"] }); err != nil {
		p.t.Fatalf("no long poll: %v", err)
	}
}

// soon bounds a wait for what happens at once, unless something hangs.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func (p *platform) decode(raw []byte, v any) {
	p.t.Helper()
	if err := json.Unmarshal(raw, v); err != nil {
		p.t.Fatalf("decode %s: %v", raw, err)
	}
}

func (p *platform) fields(r reply) map[string]any {
	p.t.Helper()
	var m map[string]any
	p.decode(r.Result, &m)
	return m
}

// get fetches a path of the server.
func (p *platform) get(path string) string {
	p.t.Helper()
	q, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.URL()+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.do(q)
}

func (p *platform) do(q *http.Request) string {
	p.t.Helper()
	res, err := p.client.Do(q)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(raw)
}
