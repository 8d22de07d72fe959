package subagents_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"parley/llm"
	"parley/llm/llmtest"
	"parley/sessionkeys"
	"parley/subagents"
	"parley/transcript"
)

func sendCall(id string, to sessionkeys.SessionID, message string) llmtest.Call {
	in, _ := json.Marshal(map[string]string{"session": string(to), "message": message})
	return llmtest.Call{ID: id, Name: subagents.SendName, Input: string(in)}
}

// sending is a model that spawns for "root" and sends what "send" says.
func sending(r *fixture, call *llmtest.Call) {
	r.model.Reply = func(_ int, q llm.Request) llmtest.Turn {
		task, answered := lastUser(q)
		switch {
		case answered:
			return text("end")
		case task == "root":
			return llmtest.Turn{spawnCall("c1", "first task")}
		case task == "send":
			return llmtest.Turn{*call}
		}
		var heard []string
		for _, m := range q.Messages {
			if m.Role == transcript.User {
				heard = append(heard, m.Text())
			}
		}
		return text(strings.Join(heard, " | "))
	}
}

func TestAChildIsAskedMoreAndRemembers(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	var call llmtest.Call
	sending(r, &call)
	r.ask("root")
	child := r.tree()[1]
	call = sendCall("s1", child.ID, "and now?")
	r.ask("send")
	rs := r.results(r.turn.Session)
	f, words := told(t, rs[1].Content)
	if f.Status != "ok" || words != "first task | and now?" || f.Session != string(child.ID) || f.Turns != 1 || len(r.tree()) != 2 {
		t.Errorf("%+v %q", f, words)
	}
	if before, _ := told(t, rs[0].Content); before.Cost >= f.Cost {
		t.Errorf("it cost %s, then %s", before.Cost, f.Cost)
	}
	if n := r.counted("spawned 1"); n != 1 {
		t.Errorf("spawned %d times", n)
	}
}

// What the operator denies is denied to children that have been given it before, too.
func TestAToolThatIsDeniedIsTakenFromAChild(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.cfg = subagents.Config{Tools: []string{"read_file", "glob"}}
	r.set = r.tools("read_file", "glob")
	var call llmtest.Call
	sending(r, &call)
	r.ask("root")
	call = sendCall("s1", r.tree()[1].ID, "and now?")
	r.cfg.Deny = []string{"glob"}
	r.ask("send")
	was, is := r.offered()["first task"], r.offered()["and now?"]
	if !slices.Contains(was, "glob") || slices.Contains(is, "glob") || !slices.Contains(is, "read_file") {
		t.Errorf("it had %q, and then %q", was, is)
	}
}

// What is not below the asking session is refused as if it did not exist.
func TestNobodyElsesSessionIsReached(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	var call llmtest.Call
	sending(r, &call)
	r.ask("root")
	root, child := r.turn.Session, r.tree()[1].ID
	var texts []string
	for _, to := range []sessionkeys.SessionID{root, "c-00000000000000000000000000000000", "01JD0000000000000000000000"} {
		call = sendCall("s1", to, "psst")
		r.ask("send")
		rs := r.results(root)
		last := rs[len(rs)-1]
		if !last.IsError {
			t.Errorf("%s was reached: %q", to, last.Content)
		}
		texts = append(texts, last.Content)
	}
	if texts[0] != texts[1] || texts[1] != texts[2] {
		t.Errorf("they are told apart: %q", texts)
	}
	// A child cannot reach its parent, nor itself.
	r.cfg = subagents.Config{Tools: []string{"sessions_spawn", "sessions_send"}, AlsoAllow: []string{"sessions_send"}}
	r.model.Reply = func(_ int, q llm.Request) llmtest.Turn {
		task, answered := lastUser(q)
		switch {
		case answered:
			return text("end")
		case task == "root":
			return llmtest.Turn{spawnCall("c1", "up")}
		}
		return llmtest.Turn{sendCall("s1", root, "psst"), sendCall("s2", child, "psst")}
	}
	r.ask("root")
	tree := r.tree()
	rs := r.results(tree[len(tree)-1].ID)
	if len(rs) != 2 || rs[0].Content != texts[0] || rs[1].Content != texts[0] {
		t.Errorf("%+v", rs)
	}
}

// U08: a child of a child is below the root too, and keeps its own rights.
func TestAGrandchildIsAskedMoreUnderItsOwnRights(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	var call llmtest.Call
	sending(r, &call)
	reply := r.model.Reply
	r.model.Reply = func(n int, q llm.Request) llmtest.Turn {
		if task, answered := lastUser(q); task == "first task" && !answered {
			for _, d := range q.Tools {
				if d.Name == "sessions_spawn" {
					return llmtest.Turn{spawnCall("g1", "first task")}
				}
			}
		}
		return reply(n, q)
	}
	r.ask("root")
	tree := r.tree()
	r.cfg = subagents.Config{Tools: []string{"read_file", "write_file", "sessions_spawn"}, MaxDepth: 5}
	call = sendCall("s1", tree[2].ID, "more")
	r.ask("send")
	got := r.offered()["more"]
	if len(tree) != 3 || len(got) != 1 || got[0] != "read_file" {
		t.Errorf("%d sessions, it has %v", len(tree), got)
	}
}

// After a crash a message is not sent twice.
func TestAMessageThatWasSentIsFoundAgain(t *testing.T) {
	t.Parallel()
	for left := 1; ; left++ {
		r := newRig(t, nil)
		var call llmtest.Call
		sending(r, &call)
		r.ask("root")
		call = sendCall("s1", r.tree()[1].ID, "more")
		r.say("send")
		_, err := r.run(t.Context(), (&mortal{left: left, applied: left%2 == 0}).over(r.store))
		if err == nil {
			if left < 10 {
				t.Fatalf("only %d operations", left)
			}
			return
		}
		if !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		if turn, err := r.store.Turn(t.Context(), r.turn.ID); err != nil || turn.State == "done" {
			continue
		}
		r.takeOver()
		if _, err := r.run(t.Context(), r.store); err != nil {
			t.Fatal(err)
		}
		r.sound()
		n := 0
		for _, m := range r.messages(r.tree()[1].ID) {
			if m.Text() == "more" {
				n++
			}
		}
		if _, words := told(t, r.results(r.turn.Session)[1].Content); n != 1 || words != "first task | more" {
			t.Errorf("after operation %d it was sent %d times: %q", left, n, words)
		}
	}
}
