package slack_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/slack-go/slack/slackevents"

	sim "parley/simulators/slack"
)

// told is the next event as the client library reads it.
func (s *socket) told() (any, string) {
	s.t.Helper()
	f := s.read()
	s.ack(f)
	e, err := slackevents.ParseEvent(f.Payload, slackevents.OptionNoVerifyToken())
	if err != nil {
		s.t.Fatalf("%v: %s", err, f.Payload)
	}
	return e.InnerEvent.Data, string(f.Payload)
}

func (s *socket) message() (*slackevents.MessageEvent, string) {
	s.t.Helper()
	d, raw := s.told()
	m, ok := d.(*slackevents.MessageEvent)
	if !ok {
		s.t.Fatalf("no message: %s", raw)
	}
	return m, raw
}

func TestEveryKindOfConversationHasItsType(t *testing.T) {
	t.Parallel()
	w := start(t)
	s := w.connect()
	for _, c := range []sim.Channel{general, hidden, three, sim.DM(ann)} {
		w.say(c, ann, "hello")
		m, raw := s.message()
		if m.ChannelType != string(c.Kind) || m.Channel != c.ID || !strings.Contains(raw, `"rich_text_section"`) || m.ClientMsgID == "" {
			t.Errorf("%s: %s", c.ID, raw)
		}
	}
}

func TestEditsUnfurlsAndDeletions(t *testing.T) {
	t.Parallel()
	w := start(t)
	s := w.connect()
	said := w.say(general, ann, "see https://example.com?a=1&b=2")
	if m, raw := s.message(); m.Text != "see <https://example.com?a=1&amp;b=2>" {
		t.Errorf("said: %s", raw)
	}
	if _, err := w.Unfurl(general.ID, said.TS, "https://example.com"); err != nil {
		t.Fatal(err)
	}
	m, raw := s.message()
	if m.SubType != "message_changed" || m.Message.Edited != nil || len(m.Message.Attachments) != 1 || m.Message.Timestamp != said.TS {
		t.Errorf("unfurled: %s", raw)
	}
	if _, err := w.Edit(general.ID, said.TS, "better", sim.SayOptions{}); err != nil {
		t.Fatal(err)
	}
	m, raw = s.message()
	if m.Message.Edited == nil || m.Message.Text != "better" || m.PreviousMessage == nil || m.PreviousMessage.Text == "better" || m.TimeStamp == said.TS {
		t.Errorf("edited: %s", raw)
	}
	if err := w.Delete(general.ID, said.TS); err != nil {
		t.Fatal(err)
	}
	if m, raw := s.message(); m.SubType != "message_deleted" || m.DeletedTimeStamp != said.TS || m.PreviousMessage.Text != "better" {
		t.Errorf("deleted: %s", raw)
	}
	if _, err := w.Edit(general.ID, said.TS, "again", sim.SayOptions{}); err == nil {
		t.Error("what is gone was edited")
	}
}

func TestThreadsAndBroadcasts(t *testing.T) {
	t.Parallel()
	w := start(t)
	s := w.connect()
	root := w.say(general, ann, "root")
	s.message()
	w.say(general, bob, "reply", sim.SayOptions{ThreadTS: root.TS})
	if m, raw := s.message(); m.ThreadTimeStamp != root.TS || m.SubType != "" {
		t.Errorf("reply: %s", raw)
	}
	w.say(general, bob, "for all", sim.SayOptions{ThreadTS: root.TS, Broadcast: true})
	if m, raw := s.message(); m.SubType != "thread_broadcast" || m.Root == nil || m.Root.Timestamp != root.TS {
		t.Errorf("broadcast: %s", raw)
	}
	if _, err := w.Say(general, bob, "lost", sim.SayOptions{ThreadTS: "1.2"}); err == nil {
		t.Error("a reply to nothing was said")
	}
}

func TestAnAppHearsItself(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.say(general, ann, "hello")
	s := w.connect()
	w.until(func(b sim.Book) bool { return b.Connected["parley"] == 1 })
	a := w.call("chat.postMessage", map[string]any{"channel": general.ID, "text": "hi <@U0PARLEY>"})
	w.call("chat.update", map[string]any{"channel": general.ID, "ts": a.TS, "text": "hi all"})
	w.call("chat.delete", map[string]any{"channel": general.ID, "ts": a.TS})
	for _, want := range []string{"", "message_changed", "message_deleted"} {
		m, raw := s.message()
		for m.User == ann.ID { // what was said before
			m, raw = s.message()
		}
		if m.SubType != want || !strings.Contains(raw, `"bot_id":"B0PARLEY"`) || !strings.Contains(raw, `"user":"U0PARLEY"`) {
			t.Errorf("%q: %s", want, raw)
		}
	}
}

func TestOtherBots(t *testing.T) {
	t.Parallel()
	w := start(t)
	s := w.connect()
	w.say(general, sim.Person{ID: "U0OTHER", Name: "other", IsBot: true}, "beep")
	if m, raw := s.message(); m.BotID != "B0OTHER" || m.User != "U0OTHER" {
		t.Errorf("modern: %s", raw)
	}
	w.say(general, sim.Person{ID: "U0OLD", Name: "old"}, "boop", sim.SayOptions{Subtype: "bot_message"})
	if m, raw := s.message(); m.SubType != "bot_message" || m.User != "" || m.Username != "old" {
		t.Errorf("old: %s", raw)
	}
}

func TestConnectAndEnterpriseGridHaveTheirIDs(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *sim.Options) {
		o.Team = sim.Team{ID: "T0GRID", EnterpriseID: "E0GRID", EnterpriseName: "Grid"}
		o.Apps[0].OrgWide = true
	})
	s := w.connect()
	shared := sim.Channel{ID: "C0SHARED", Kind: sim.Public, External: true, ContextTeam: "T0OTHER"}
	w.say(shared, sim.Person{ID: "W0STRANGER", Name: "eve", Team: "T0STRANGE"}, "hello", sim.SayOptions{Files: []sim.File{{Name: "a.txt", Data: []byte("x")}}})
	var o struct {
		TeamID     string  `json:"team_id"`
		Enterprise string  `json:"enterprise_id"`
		Context    string  `json:"context_team_id"`
		ContextE   *string `json:"context_enterprise_id"`
		External   bool    `json:"is_ext_shared_channel"`
		Auth       []struct {
			Enterprise string  `json:"enterprise_id"`
			Team       *string `json:"team_id"`
			User       string  `json:"user_id"`
			Wide       bool    `json:"is_enterprise_install"`
		} `json:"authorizations"`
		Event struct {
			User, Team string
			UserTeam   string `json:"user_team"`
			SourceTeam string `json:"source_team"`
			Files      []struct {
				ID         string `json:"id"`
				FileAccess string `json:"file_access"`
				URL        string `json:"url_private"`
			}
		} `json:"event"`
	}
	_, raw := s.message()
	if err := json.Unmarshal([]byte(raw), &o); err != nil {
		t.Fatal(err)
	}
	e := o.Event
	if o.Enterprise != "E0GRID" || o.Context != "T0OTHER" || o.ContextE == nil || !o.External || len(o.Auth) != 1 || !o.Auth[0].Wide || o.Auth[0].Team != nil ||
		o.Auth[0].User != "U0PARLEY" || e.User != "W0STRANGER" || e.UserTeam != "T0STRANGE" || e.SourceTeam != "T0STRANGE" ||
		len(e.Files) != 1 || e.Files[0].FileAccess != "check_file_info" || e.Files[0].URL != "" {
		t.Errorf("%s", raw)
	}
	if a := w.call("files.info", map[string]any{"file": e.Files[0].ID}); !strings.Contains(string(a.raw), "url_private_download") {
		t.Errorf("files.info: %s", a.raw)
	}
	if a := w.call("auth.test", nil); !strings.Contains(string(a.raw), `"is_enterprise_install":true`) {
		t.Errorf("auth.test: %s", a.raw)
	}
}

func TestTheAssistantSurface(t *testing.T) {
	t.Parallel()
	w := start(t)
	s := w.connect()
	at := sim.Context{ChannelID: general.ID, TeamID: "T0PARLEY01"}
	said, err := w.OpenAssistant("", ann, at)
	if err != nil {
		t.Fatal(err)
	}
	d, raw := s.told()
	if e, ok := d.(*slackevents.AssistantThreadStartedEvent); !ok || e.AssistantThread.ThreadTimeStamp != said.ThreadTS || e.AssistantThread.UserID != ann.ID {
		t.Errorf("started: %s", raw)
	}
	if _, err := w.ChangeContext("", ann, said.ThreadTS, at); err != nil {
		t.Fatal(err)
	}
	if d, raw := s.told(); raw == "" {
		t.Errorf("changed: %v", d)
	}
	w.say(sim.DM(ann), ann, "hello", sim.SayOptions{ThreadTS: said.ThreadTS})
	if m, raw := s.message(); m.ThreadTimeStamp != said.ThreadTS || m.ChannelType != "im" {
		t.Errorf("said: %s", raw)
	}
	// Slack gives the thread a title, as if its author had edited the first message.
	if m, raw := s.message(); m.SubType != "message_changed" || m.Message.SubType != "assistant_app_thread" || m.Message.User != ann.ID || m.Message.Edited == nil {
		t.Errorf("the first title: %s", raw)
	}
	thread := map[string]any{"channel_id": said.Channel, "thread_ts": said.ThreadTS}
	with := func(k string, v any) map[string]any {
		m := map[string]any{k: v}
		for k, v := range thread {
			m[k] = v
		}
		return m
	}
	for method, args := range map[string]map[string]any{
		"assistant.threads.setStatus":           with("status", "is thinking"),
		"assistant.threads.setSuggestedPrompts": with("prompts", []any{map[string]any{"title": "a", "message": "b"}}),
	} {
		if a := w.call(method, args); !a.OK {
			t.Errorf("%s: %s", method, a.raw)
		}
	}
	if n := len(w.Books().Signals); n != 2 {
		t.Errorf("%d signals", n)
	}
}

func TestMembershipDecidesWhatAnAppHears(t *testing.T) {
	t.Parallel()
	w := start(t)
	s := w.connect()
	if _, err := w.SetMember(general, "parley", false); err != nil {
		t.Fatal(err)
	}
	if d, raw := s.told(); d == nil || !strings.Contains(raw, "channel_left") {
		t.Errorf("left: %s", raw)
	}
	if said := w.say(general, ann, "@parley anybody?"); len(said.Events) != 0 {
		t.Errorf("heard: %+v", said)
	}
	if _, err := w.SetMember(general, "parley", true); err != nil {
		t.Fatal(err)
	}
	if d, raw := s.told(); !strings.Contains(raw, "member_joined_channel") {
		t.Errorf("joined: %v %s", d, raw)
	}
	if said := w.say(general, ann, "@parley now?"); len(said.Events) != 2 {
		t.Errorf("heard: %+v", said)
	}
}

func TestSubscriptionsDecideWhatAnAppHears(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *sim.Options) { o.Apps[0].Events = []string{"app_mention", "message.im"} })
	if said := w.say(general, ann, "@parley hi"); len(said.Events) != 1 || said.Events[0].Kind != "app_mention" {
		t.Errorf("in a channel: %+v", said.Events)
	}
	if said := w.say(sim.DM(ann), ann, "hi"); len(said.Events) != 1 {
		t.Errorf("in a direct message: %+v", said.Events)
	}
	if said, err := w.React(ann, general.ID, w.say(general, ann, "x").TS, "eyes", false); err != nil || len(said.Events) != 0 {
		t.Errorf("a reaction: %+v %v", said, err)
	}
}
