package gateway_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/gateway/gatewaytest"
	"parley/gateway/policy"
	"parley/gateway/settings"
	"parley/sessions"
	"parley/sessions/sqlite"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

const mention = "@" + gatewaytest.Username + " "

// questions is how many requests for an answer the model server got, also those that
// it no longer keeps.
func questions(h *gatewaytest.Env) (n int) {
	bill := h.Model.Bill()
	for _, ended := range bill.Outcomes {
		n += int(ended)
	}
	return n + bill.Open
}

// turnsIn counts the turns of all sessions of a gateway that has ended. A turn may ask a model twice when the disk
// holds up its answer for too long, but it is one turn.
func turnsIn(t *testing.T, h *gatewaytest.Env) (n int) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(h.Config().StateDir, "parley.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { noError(t, store.Close()) }()
	all, err := store.Sessions(t.Context(), sessions.SessionQuery{Limit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		turns, err := store.TurnsOf(t.Context(), s.ID)
		if err != nil {
			t.Fatal(err)
		}
		n += len(turns)
	}
	return n
}

func TestRow11_AnAlbumIsOneTurn(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: model.Echo})
	gw := env.Start()
	album := func(c telegram.Chat, p telegram.Person, caption string, n int) {
		if _, err := env.Telegram.Album(c, p, caption, n, telegram.SayOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	// In a group only one of its messages has the mention.
	album(gatewaytest.Kitchen, gatewaytest.Ann, "not for the bot", 3)
	album(gatewaytest.Kitchen, gatewaytest.Ann, mention+"what is this?", 4)
	got := env.DeliveredText(gatewaytest.Kitchen, gw.NextDelivered())
	if !strings.Contains(got, "what is this?") || strings.Count(got, "attached") != 4 {
		t.Errorf("the group was told %q", got)
	}
	album(telegram.PrivateChat(gatewaytest.Ben), gatewaytest.Ben, "", 10)
	if got := env.DeliveredText(telegram.PrivateChat(gatewaytest.Ben), gw.NextDelivered()); strings.Count(got, "attached") != 10 {
		t.Errorf("Ben was told %q", got)
	}
	if n := questions(env); n != 2 {
		t.Errorf("two albums were %d questions", n)
	}
}

func TestRow11_ALongPasteIsOneTurn(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: model.Echo})
	gw := env.Start()
	long := strings.Repeat("x", 4090)
	for _, piece := range []string{mention + long, long, "the end"} {
		env.Say(gatewaytest.Kitchen, gatewaytest.Ann, piece)
	}
	if got := env.DeliveredText(gatewaytest.Kitchen, gw.NextDelivered()); !strings.Contains(got, "the end") {
		t.Errorf("the group was told %q", got)
	}
	if n := questions(env); n != 1 {
		t.Errorf("one paste was %d questions", n)
	}
	// The mention may stand in the last piece.
	for _, piece := range []string{"the beginning " + long[:4060], long, mention + "the end"} {
		env.Say(gatewaytest.Kitchen, gatewaytest.Ann, piece)
	}
	if got := env.DeliveredText(gatewaytest.Kitchen, gw.NextDelivered()); !strings.Contains(got, "the beginning") {
		t.Errorf("the group was told %.200q", got)
	}
	if n := questions(env); n != 2 {
		t.Errorf("two pastes were %d questions", n)
	}
}

// Limits hold for one person at one bot, and nobody else notices.
func TestWhoSendsTooMuchIsToldOnceAndTheRestIsAnswered(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: model.Echo, Change: func(c *settings.Config) {
		c.Limits = policy.Limits{PersonPerMinute: 1, PersonBurst: 4, GroupPerMinute: -1, Queue: -1}
	}})
	gw := env.Start()
	ann, ben := telegram.PrivateChat(gatewaytest.Ann), telegram.PrivateChat(gatewaytest.Ben)
	const burst, taken = 12, 4
	for i := range burst {
		env.Say(ann, gatewaytest.Ann, fmt.Sprintf("<%d>", i))
		if i%6 == 0 {
			env.Say(ben, gatewaytest.Ben, fmt.Sprintf("<%d>", i))
		}
	}
	for range taken + 1 + 2 {
		gw.NextDelivered()
	}
	env.Say(ann, gatewaytest.Ann, "/stop")
	gw.NextDelivered()
	answers, notices, stops := 0, 0, 0
	for _, text := range env.SentTexts(ann) {
		switch {
		case strings.Contains(text, "more than I can take"):
			notices++
		case strings.Contains(text, "Nothing was running"):
			stops++
		default:
			answers++
		}
	}
	if answers != taken || notices != 1 || stops != 1 {
		t.Errorf("Ann got %d answers, %d notices, %d about her stop: %q", answers, notices, stops, env.SentTexts(ann))
	}
	if got := env.SentTexts(ben); len(got) != 2 {
		t.Errorf("Ben got %q", got)
	}
	gw.AwaitMetrics(fmt.Sprintf(`parley_messages_ignored_total{channel="tg",reason="rate_limited"} %d`, burst-taken))
	gw.Stop()
	if b := env.Telegram.Books(); b.Pending[gatewaytest.Username] != 0 {
		t.Errorf("%d updates are not confirmed", b.Pending[gatewaytest.Username])
	}
}

func TestRow13_AnEditWithoutAChangeAsksNothingAndOneWithAsksAgain(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: model.Echo})
	gw := env.Start()
	ann := telegram.PrivateChat(gatewaytest.Ann)
	said := env.Say(ann, gatewaytest.Ann, "what is 6*7")
	gw.NextDelivered()
	edit := func(text string) {
		if _, err := env.Telegram.Edit(ann.ID, said.MessageID, text, telegram.SayOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	gw.Stop()
	gw = env.Start()
	edit("what is 6*7") // as a link preview or a keyboard causes it
	gw.Ask(gatewaytest.Ann, "and 1*1")
	edit("what is 6*8")
	if got := env.DeliveredText(ann, gw.NextDelivered()); !strings.Contains(got, "6*8") {
		t.Errorf("the correction was answered with %q", got)
	}
	if n := questions(env); n != 3 {
		t.Errorf("two questions and one correction were %d questions", n)
	}
	gw.AwaitMetrics(`parley_messages_deduplicated_total{channel="tg",reason="edit"} 1`)
}

// held answers like Echo, but what says "hold" only when the test lets it.
func held() (brain model.Brain, asked, canceled <-chan struct{}, release func()) {
	came, left, gate := make(chan struct{}, 16), make(chan struct{}, 16), make(chan struct{})
	return func(ctx context.Context, p *model.Prompt) model.Answer {
		if strings.HasSuffix(p.LastText(), "hold on") {
			came <- struct{}{}
			select {
			case <-gate:
			case <-ctx.Done():
				left <- struct{}{}
			}
		}
		return model.Echo(ctx, p)
	}, came, left, func() { close(gate) }
}

func TestRow6_AGroupMovesWhileItIsBusyAndNothingIsLostDoubledOrOutOfOrder(t *testing.T) {
	t.Parallel()
	brain, asked, _, release := held()
	group := gatewaytest.Kitchen
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: brain, Change: func(c *settings.Config) {
		tg := c.Channels.Telegram["tg"]
		tg.Access = policy.Access{People: []string{fmt.Sprint(gatewaytest.Ann.ID)}, Groups: []string{fmt.Sprint(group.ID)}}
		c.Channels.Telegram["tg"] = tg
	}})
	gw := env.Start()
	said := 0
	say := func(c telegram.Chat, words string) {
		said++
		env.Say(c, gatewaytest.Ann, fmt.Sprintf("%s<%d> %s", mention, said, words))
	}
	say(group, "quickly")
	gw.NextDelivered()
	say(group, "hold on")
	<-asked
	say(group, "waits")
	say(group, "waits too")
	fresh, _, err := env.Telegram.Migrate(group, gatewaytest.Ann)
	if err != nil {
		t.Fatal(err)
	}
	say(fresh, "in the new group")
	say(fresh, "again")
	release()
	gw.NextDelivered()
	gw.NextDelivered()
	gw.Stop()
	say(fresh, "while nobody listens")
	env.Start()
	say(fresh, "at the end")
	answers := func(n int) {
		t.Helper()
		env.Await("all answers", func(b telegram.Book) bool {
			n := n
			for _, m := range b.Messages {
				if m.ChatID == group.ID || m.ChatID == fresh.ID {
					n--
				}
			}
			return n <= 0
		})
	}
	answers(said)
	got := append(env.SentTexts(group), env.SentTexts(fresh)...)
	if len(env.SentTexts(group)) != 1 || len(got) != said {
		t.Fatalf("the old group got %q, the new one %q", env.SentTexts(group), env.SentTexts(fresh))
	}
	for i, text := range got {
		if !strings.Contains(text, fmt.Sprintf("<%d>", i+1)) {
			t.Errorf("answer %d is %q", i+1, text)
		}
	}
	// It is one conversation, under the key that it always had.
	if n := questions(env); n != said {
		t.Errorf("%d questions were asked for %d messages", n, said)
	}
	env.Say(fresh, gatewaytest.Ann, mention+"/status")
	answers(said + 1)
	got = env.SentTexts(fresh)
	if last := got[len(got)-1]; !strings.Contains(last, fmt.Sprintf("%d messages", 2*said)) {
		t.Errorf("the conversation has not all messages: %q", last)
	}
}

func TestRow6_OnlyASendTellsThatTheGroupMoved(t *testing.T) {
	t.Parallel()
	brain, asked, _, release := held()
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: brain, Change: func(c *settings.Config) { c.Worker.Grace = time.Millisecond }})
	gw := env.Start()
	env.Say(gatewaytest.Kitchen, gatewaytest.Ann, mention+"hold on")
	<-asked
	gw.Stop() // the service messages are not heard yet when the answer is sent
	fresh, _, err := env.Telegram.Migrate(gatewaytest.Kitchen, gatewaytest.Ann)
	if err != nil {
		t.Fatal(err)
	}
	release()
	gw = env.Start()
	if got := env.DeliveredText(fresh, gw.NextDelivered()); !strings.Contains(got, "hold on") {
		t.Errorf("the new group got %q", got)
	}
}

func TestRow15_AChatThatShutsTheBotOutIsLeftAloneUntilItOpensAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		chat telegram.Chat
		text string
	}{"kicked": {gatewaytest.Kitchen, mention}, "blocked": {telegram.PrivateChat(gatewaytest.Ben), ""}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			brain, asked, canceled, release := held()
			defer release()
			env := gatewaytest.Open(t, gatewaytest.Options{Brain: brain})
			gw := env.Start()
			env.Say(c.chat, gatewaytest.Ben, c.text+"hello")
			gw.NextDelivered()
			env.Say(c.chat, gatewaytest.Ben, c.text+"hold on")
			<-asked
			stand := func(status string) {
				if _, err := env.Telegram.SetStanding(c.chat, gatewaytest.Ben, gatewaytest.Username, status); err != nil {
					t.Fatal(err)
				}
			}
			before := len(env.Telegram.Books().Calls)
			stand("kicked")
			// The running turn ends without anybody releasing it.
			<-canceled
			gw.Stop()
			gw = env.Start()
			stand("member")
			env.Say(c.chat, gatewaytest.Ben, c.text+"back")
			if got := env.DeliveredText(c.chat, gw.NextDelivered()); !strings.Contains(got, "back") {
				t.Errorf("after it opened the chat got %q", got)
			}
			for _, call := range env.Telegram.Books().Calls[before:] {
				if call.Status == 403 && call.Method == "sendMessage" {
					t.Errorf("%s was called in a closed chat", call.Method)
				}
			}
			if sent := env.SentTexts(c.chat); len(sent) != 2 {
				t.Errorf("the chat got %q", sent)
			}
		})
	}
}

func TestRow15_ARefusedSendShutsTheChat(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{})
	gw := env.Start()
	gw.Ask(gatewaytest.Ben, "hello")
	noError(t, env.Telegram.Plan(telegram.Fault{Trouble: telegram.Forbidden, Method: "sendMessage", Next: 1}))
	env.Say(telegram.PrivateChat(gatewaytest.Ben), gatewaytest.Ben, "you will not read this")
	gw.NextDelivered()
	gw.AwaitMetrics(`parley_messages_sent_total{channel="tg",outcome="dropped"} 1`)
	gw.Stop()
	gw = env.Start()
	if got := gw.Ask(gatewaytest.Ben, "and now?"); !strings.Contains(got, "and now?") {
		t.Errorf("Ben was told %q", got)
	}
	if sent := env.SentTexts(telegram.PrivateChat(gatewaytest.Ben)); len(sent) != 2 || slices.Contains(sent, "") {
		t.Errorf("the chat got %q", sent)
	}
}
