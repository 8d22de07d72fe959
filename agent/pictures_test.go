package agent_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/agent"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/transcript"
)

// picture saves a picture and is the part of a message that names it.
func picture(t *testing.T, workspace, name string, data []byte) transcript.Binary {
	t.Helper()
	if err := os.WriteFile(filepath.Join(workspace, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return transcript.Binary{Path: name, MIMEType: "image/png", Sum: hex.EncodeToString(sum[:])}
}

// firstday A1: a model that sees is shown the pictures of the history, as far as they
// are what they were, the newest before others.
func TestPicturesAreShownToAModelThatSees(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		blind bool
		add   func(t *testing.T, workspace string) []transcript.Part
		want  []string // what is shown, by its first byte
	}{
		"one": {add: func(t *testing.T, w string) []transcript.Part {
			t.Helper()
			return []transcript.Part{picture(t, w, "a.png", []byte("a"))}
		}, want: []string{"a"}},
		"one to a model that does not see": {blind: true, add: func(t *testing.T, w string) []transcript.Part {
			t.Helper()
			return []transcript.Part{picture(t, w, "a.png", []byte("a"))}
		}, want: []string{""}},
		"one that is gone, is another, leads outside, is a folder, or too large": {add: func(t *testing.T, w string) (ps []transcript.Part) {
			t.Helper()
			gone, other, link := picture(t, w, "gone.png", []byte("a")), picture(t, w, "other.png", []byte("b")), picture(t, w, "link.png", []byte("c"))
			folder := picture(t, w, "folder.png", []byte("d"))
			outside := filepath.Join(t.TempDir(), "c")
			for _, err := range []error{
				os.Remove(filepath.Join(w, "gone.png")), os.WriteFile(filepath.Join(w, "other.png"), []byte("x"), 0o600),
				os.Remove(filepath.Join(w, "link.png")), os.WriteFile(outside, []byte("c"), 0o600), os.Symlink(outside, filepath.Join(w, "link.png")),
				os.Remove(filepath.Join(w, "folder.png")), os.Mkdir(filepath.Join(w, "folder.png"), 0o700),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			return []transcript.Part{gone, other, link, folder, picture(t, w, "large.png", make([]byte, agent.MaxPicture+1))}
		}, want: []string{"", "", "", "", ""}},
		"twelve": {add: func(t *testing.T, w string) (ps []transcript.Part) {
			t.Helper()
			for i := range 12 {
				ps = append(ps, picture(t, w, fmt.Sprint(i), []byte{byte('a' + i)}))
			}
			return ps
		}, want: []string{"", "", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}},
		"four large ones": {add: func(t *testing.T, w string) (ps []transcript.Part) {
			t.Helper()
			for i := range 4 {
				ps = append(ps, picture(t, w, fmt.Sprint(i), bytes.Repeat([]byte{byte('a' + i)}, agent.MaxPicture)))
			}
			return ps
		}, want: []string{"", "b", "c", "d"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil, text("hi"))
			r.turn.Workspace, r.turn.Vision = t.TempDir(), !c.blind
			stored := c.add(t, r.turn.Workspace)
			r.journal.messages[0].Parts = append(r.journal.messages[0].Parts, stored...)
			r.run(t, t.Context())
			var shown []string
			for _, p := range r.lastRequest().Messages[0].Parts {
				if b, ok := p.(transcript.Binary); ok {
					shown = append(shown, string(b.Data[:min(1, len(b.Data))]))
				}
			}
			if fmt.Sprint(shown) != fmt.Sprint(c.want) {
				t.Errorf("shown %q, want %q", shown, c.want)
			}
			for _, p := range r.journal.messages[0].Parts {
				if b, ok := p.(transcript.Binary); ok && len(b.Data) > 0 {
					t.Errorf("%s is stored with its content", b.Path)
				}
			}
		})
	}
}

// shows reports whether a request holds the content of a picture.
func shows(q llm.Request) bool {
	return slices.ContainsFunc(q.Messages, func(m transcript.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p transcript.Part) bool {
			b, ok := p.(transcript.Binary)
			return ok && len(b.Data) > 0
		})
	})
}

// A provider refuses every request that shows it a picture which it does not take: one of too
// many points, one that is cut off.
func TestARefusedPicture(t *testing.T) {
	t.Parallel()
	refuse := llmtest.Turn{llmtest.Fail{Kind: llm.InvalidRequest, Status: 400, Message: "Could not process image"}}
	// withPicture is a fixture whose history begins with a picture, which its model refuses.
	withPicture := func(t *testing.T, history []transcript.Message) *fixture {
		t.Helper()
		r := newLong(t, nil, llmtest.Text("<summary>Ann sent a cat.</summary>"))
		answer := r.model.Reply
		r.model.Reply = func(n int, q llm.Request) llmtest.Turn {
			if shows(q) {
				return refuse
			}
			return answer(n, q)
		}
		r.turn.Workspace, r.turn.Vision = t.TempDir(), true
		r.turn.System = []llm.SystemBlock{{Text: "be kind"}}
		r.journal.messages = history
		first := &r.journal.messages[0]
		first.Parts = append(first.Parts, picture(t, r.turn.Workspace, "cat.png", []byte("cat")))
		return r
	}
	for name, turns := range map[string]int{
		"leaves the turn that brings it its answer":  0,
		"leaves a later turn of words alone as well": 1,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := withPicture(t, talk(turns, 1))
			if o := r.run(t, t.Context()); o.Text != "fine" || o.Finish != transcript.EndTurn || o.Steps != 1 {
				t.Errorf("the turn ended with %+v", o)
			}
			qs := r.model.Requests()
			if len(qs) != 2 || !shows(qs[0]) || shows(qs[1]) {
				t.Fatalf("%d requests", len(qs))
			}
			if s := qs[1].System; len(s) != 2 || s[0].Text != "be kind" || !strings.Contains(s[1].Text, "you cannot see it") || len(r.turn.System) != 1 {
				t.Errorf("the second one has the system message %+v", s)
			}
			if es := r.journal.ledger(); len(es) != 2 || es[0].Outcome != "invalid_request" || es[0].Amount != 0 || es[1].Outcome != "ok" {
				t.Errorf("the ledger: %+v", es)
			}
		})
	}
	t.Run("leaves a conversation its summary", func(t *testing.T) {
		t.Parallel()
		r := withPicture(t, talk(10, 1000))
		r.turn.Compact = &agent.Compaction{}
		if o := r.run(t, t.Context()); !strings.HasPrefix(o.Text, "I have summarised") {
			t.Errorf("the turn ended with %+v", o)
		}
		if qs := r.model.Requests(); len(qs) != 2 || !asksForSummary(qs[1]) || shows(qs[1]) {
			t.Errorf("%d requests", len(qs))
		}
	})
	t.Run("is no reason to ask again after another failure", func(t *testing.T) {
		t.Parallel()
		for name, answer := range map[string]llmtest.Turn{
			"of the key":        {llmtest.Fail{Kind: llm.Auth, Status: 401}},
			"of the model":      {llmtest.Fail{Kind: llm.InvalidRequest, Status: 404}},
			"behind some words": {llmtest.Text("a cat"), llmtest.Fail{Kind: llm.InvalidRequest, Status: 400}},
		} {
			r := withPicture(t, talk(0, 1))
			r.model.Reply = func(int, llm.Request) llmtest.Turn { return answer }
			if o := r.run(t, t.Context()); o.Finish != transcript.Failed || len(r.model.Requests()) != 1 {
				t.Errorf("%s: %+v after %d requests", name, o, len(r.model.Requests()))
			}
		}
	})
	t.Run("is not what a request without one was refused for", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, nil, refuse)
		if o := r.run(t, t.Context()); o.Finish != transcript.Failed || len(r.model.Requests()) != 1 {
			t.Errorf("%+v after %d requests", o, len(r.model.Requests()))
		}
	})
}
