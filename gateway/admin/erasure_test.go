package admin_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"parley/broker"
	"parley/gateway/admin"
	"parley/gateway/erasure"
	"parley/gateway/errands"
	"parley/gateway/gatewaytest"
	"parley/gateway/inquiries"
	"parley/gateway/listeners"
	"parley/gateway/people"
	"parley/sessionkeys"
	"parley/sessions/sqlite/sqlitetest"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

func TestASessionIsDeletedOnceAndItIsRecordedByWhom(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	asked, goOn := make(chan struct{}), make(chan struct{})
	gw, ask := newEnv(t, gatewaytest.Options{Brain: func(ctx context.Context, p *model.Prompt) model.Answer {
		if p.LastText() == "wait" {
			close(asked)
			<-goOn
		}
		return model.Echo(ctx, p)
	}})
	gw.Env.Say(telegram.PrivateChat(gatewaytest.Ann), gatewaytest.Ann, "hello")
	gw.NextDelivered()
	list, err := ask.Sessions(ctx, admin.SessionQuery{})
	if err != nil || len(list.Sessions) != 1 {
		t.Fatal(list, err)
	}
	id := string(list.Sessions[0].ID)

	gw.Env.Say(telegram.PrivateChat(gatewaytest.Ann), gatewaytest.Ann, "wait")
	<-asked
	refused := func(err error) bool {
		e, ok := errors.AsType[*admin.Error](err)
		return ok && e.Kind == admin.Refused
	}
	if _, err := ask.DeleteSession(ctx, id); !refused(err) || !strings.Contains(err.Error(), "nothing was deleted") || !strings.Contains(err.Error(), "do it again") {
		t.Errorf("while a turn runs: %v", err)
	}
	close(goOn)
	gw.NextDelivered()
	d, err := ask.DeleteSession(ctx, id[:10])
	for refused(err) { // that it was sent is not written down yet
		d, err = ask.DeleteSession(ctx, id[:10])
	}
	if err != nil || d.Again || d.Mark.Messages != 4 || !strings.HasPrefix(d.Mark.By, "uid ") {
		t.Fatalf("deleted %+v: %v", d, err)
	}
	once := ask.Once(strings.Repeat("a", 20))
	if d, err := once.DeleteSession(ctx, id); err != nil || !d.Again {
		t.Errorf("deleted again %+v: %v", d, err)
	}
	_, err = once.DeleteSession(ctx, id)
	if e, ok := errors.AsType[*admin.Error](err); !ok || e.Kind != admin.Again {
		t.Errorf("the same action again: %v", err)
	}
	detail, err := ask.Session(ctx, id, true)
	if err != nil || detail.Tree[0].State != admin.Deleted || detail.Tree[0].Deleted == nil || len(detail.Transcript) > 0 || len(detail.Turns) != 2 {
		t.Errorf("shown is %+v, %v", detail, err)
	}
	actions, err := ask.Actions(ctx)
	if err != nil || len(actions.Actions) < 3 || actions.Actions[0].What != "delete session" || actions.Actions[0].About != id {
		t.Errorf("recorded is %+v, %v", actions, err)
	}
}

// noLetters is a log without dead letters.
type noLetters struct{}

func (noLetters) DeadLetters(context.Context, uint64, int) ([]broker.DeadLetter, error) {
	return nil, nil
}
func (noLetters) DeleteDeadLetter(context.Context, uint64) error { return nil }

// nobodyPassed remembers no message.
type nobodyPassed struct{}

func (nobodyPassed) Forget(string, ...string) {}

// Of a person whom several accounts know it is to be said which.
func TestAPersonIsForgottenOnOneAccount(t *testing.T) {
	t.Parallel()
	s := sqlitetest.Open(t, t.TempDir())
	book := &people.Book{Store: s, Now: time.Now}
	desk := &erasure.Desk{
		Store: s, Remove: func(...sessionkeys.SessionID) error { return nil }, Count: func(string) {}, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
		Errands: &errands.Book{Store: s, Now: time.Now}, People: book, Inquiries: &inquiries.Desk{Store: s, Now: time.Now}, Passed: nobodyPassed{}, Letters: noLetters{},
	}
	server, err := admin.New(t.Context(), admin.Options{
		Socket: listeners.Off, Store: s, People: book, Erasure: desk, Now: time.Now,
		Accounts: func() map[string]admin.Account { return map[string]admin.Account{"a": {}, "b": {}} },
	})
	if err != nil {
		t.Fatal(err)
	}
	d := &door{t, book, server}
	for _, channel := range []string{"a", "b"} {
		if _, err := book.Allow(t.Context(), channel, "1", "", people.By{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, failed := ask[erasure.Traces](d, "GET", "/v1/forget", "person", "2"); failed.Kind != admin.NotFound {
		t.Errorf("of nobody: %+v", failed)
	}
	if _, failed := ask[erasure.Traces](d, "GET", "/v1/forget", "person", "1"); failed.Kind != admin.Ambiguous || !strings.Contains(failed.Message, "a, b") {
		t.Errorf("of one on two accounts: %+v", failed)
	}
	if _, failed := ask[erasure.Forgotten](d, "POST", "/v1/forget", "person", "1"); failed.Kind != admin.Ambiguous {
		t.Errorf("forgotten on both: %+v", failed)
	}
	if f, failed := ask[erasure.Forgotten](d, "POST", "/v1/forget", "person", "1", "channel", "a"); !f.LetIn || failed.Kind != "" {
		t.Errorf("forgotten on one: %+v, %+v", f, failed)
	}
	left, err := book.Decisions(t.Context(), "")
	if err != nil || len(left) != 1 || left[0].Channel != "b" {
		t.Errorf("decided is %+v, %v", left, err)
	}
	if tr, failed := ask[erasure.Traces](d, "GET", "/v1/forget", "person", "1"); tr.Channel != "b" || failed.Kind != "" {
		t.Errorf("of one on one account: %+v, %+v", tr, failed)
	}

	// Of an account that has left the configuration too.
	if _, err := book.Allow(t.Context(), "gone", "3", "", people.By{}); err != nil {
		t.Fatal(err)
	}
	if tr, failed := ask[erasure.Traces](d, "GET", "/v1/forget", "person", "3"); tr.Channel != "gone" || failed.Kind != "" {
		t.Errorf("of one on an account that is gone: %+v, %+v", tr, failed)
	}
	if _, failed := ask[erasure.Traces](d, "GET", "/v1/forget", "person", "4", "channel", "gone"); failed.Kind != admin.NotFound {
		t.Errorf("of nobody on an account that is gone: %+v", failed)
	}
	if f, failed := ask[erasure.Forgotten](d, "POST", "/v1/forget", "person", "3", "channel", "gone"); !f.LetIn || failed.Kind != "" {
		t.Errorf("forgotten on an account that is gone: %+v, %+v", f, failed)
	}
}
