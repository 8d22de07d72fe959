package gateway_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// shownIn is what the bot sent into a chat, in order: texts, and files as their
// names and what their bytes add up to.
func shownIn(b telegram.Book, c telegram.Chat) (all []string) {
	for _, m := range b.Messages {
		switch {
		case m.ChatID != c.ID || !m.Deleted.IsZero():
		case m.Document != nil:
			all = append(all, strings.TrimSpace("file "+m.Document.Name+" "+m.Document.SHA256+" "+m.Text()))
		default:
			all = append(all, m.Text())
		}
	}
	return all
}

// sumOf is a file as shownIn shows it.
func sumOf(name, text string) string {
	sum := sha256.Sum256([]byte(text))
	return "file " + name + " " + hex.EncodeToString(sum[:])
}

// A file of the workspace goes into the chat that asked, and into no other.
func TestAnAgentSendsFilesIntoTheChatThatAsked(t *testing.T) {
	t.Parallel()
	report := strings.Repeat("eggs, flour and milk\n", 100_000) // several pieces of the log
	brain := func(ctx context.Context, p *model.Prompt) model.Answer {
		if p.LastText() == "hello" {
			return model.Reply(model.Say("hello"))
		}
		return asked(nil,
			model.Use("send_file", map[string]string{"path": "./report.txt"}),
			model.Use("write_file", map[string]string{"path": "empty", "content": ""}),
			model.Use("send_file", map[string]string{"path": "empty"}),
			model.Use("send_file", map[string]string{"path": "../../parley.db"}),
			model.Use("send_file", map[string]string{"path": "report.txt"}),
		)(ctx, p)
	}
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: brain})
	gw := env.Start()
	ann := telegram.PrivateChat(gatewaytest.Ann)
	gw.Ask(gatewaytest.Ann, "hello")
	noError(t, os.WriteFile(filepath.Join(gw.Folder(gatewaytest.Ann), "report.txt"), []byte(report), 0o600))
	env.Say(ann, gatewaytest.Ann, "the report, please")
	for range 3 {
		gw.NextDelivered()
	}
	got := shownIn(env.Telegram.Books(), ann)[1:]
	want := sumOf("report.txt", report)
	if len(got) != 3 || !slices.Equal(got[:2], []string{want, want}) {
		t.Fatalf("Ann got %q", got)
	}
	for said, n := range map[string]int{
		"report.txt (2100000 bytes) is on its way into the chat": 2, "the file is empty": 1, "path not allowed": 1,
	} {
		if strings.Count(got[2], said) != n {
			t.Errorf("%q is not %d times in %q", said, n, got[2])
		}
	}
	if all := env.Telegram.Books().Messages; len(all) != 4 {
		t.Errorf("%d messages were sent", len(all))
	}
}

// In direct messages and in groups of every network a file is in the place of its
// question, before the answer.
func TestAFileIsSentWhereItWasAskedForOnEveryNetwork(t *testing.T) {
	t.Parallel()
	const text = "eggs, flour and milk\n"
	for _, n := range gatewaytest.AllNetworks() {
		t.Run(string(n), func(t *testing.T) {
			t.Parallel()
			env := gatewaytest.Open(t, gatewaytest.Options{
				Networks: []gatewaytest.Network{n},
				Brain: func(_ context.Context, p *model.Prompt) model.Answer {
					rs := p.Answering()
					switch {
					case len(rs) == 0:
						return model.Reply(model.Use("write_file", map[string]string{"path": "list.txt", "content": text}))
					case strings.Contains(rs[0].Text, "on its way"):
						return model.Reply(model.Say("there it is"))
					}
					return model.Reply(model.Use("send_file", map[string]string{"path": "list.txt"}))
				},
			})
			gw := env.Start()
			places := []*gatewaytest.Conversation{env.Direct(n, 7001), env.Group(n, 8001, 7001)}
			for _, p := range places {
				p.Say("the list, please")
				if d := gw.NextDelivered(); d.File != "list.txt" {
					t.Errorf("in %s the first to be delivered was %+v", p, d)
				}
				if d := gw.NextDelivered(); d.File != "" {
					t.Errorf("in %s the second to be delivered was %+v", p, d)
				}
				if shown := p.AwaitWords("there it is"); strings.Join(shown, "") != "there it is" {
					t.Errorf("%s shows %q", p, shown)
				}
			}
			var want []string
			for _, p := range places {
				want = append(want, p.ID+" "+p.Thread+" "+sumOf("list.txt", text))
			}
			if got := filesIn(env); !slices.Equal(got, want) {
				t.Errorf("the files are %q, not %q", got, want)
			}
		})
	}
}

// filesIn are the files that the bot sent on the network of the environment: where, and
// what.
func filesIn(env *gatewaytest.Env) (all []string) {
	add := func(chat, thread, name, sum string) { all = append(all, chat+" "+thread+" file "+name+" "+sum) }
	switch {
	case env.Slack != nil:
		for _, f := range env.Slack.Books().Files {
			sum := sha256.Sum256(f.Data)
			add(f.Channel, f.ThreadTS, f.Name, hex.EncodeToString(sum[:]))
		}
	case env.Signal != nil:
		for _, m := range env.Signal.Books().Messages {
			for _, v := range m.Versions {
				for _, f := range v.Attachments {
					add(m.Chat, "", f.Filename, f.SHA256)
				}
			}
		}
	default:
		for _, m := range env.Telegram.Books().Messages {
			if m.Document != nil {
				add(strconv.FormatInt(m.ChatID, 10), "", m.Document.Name, m.Document.SHA256)
			}
		}
	}
	return all
}

// U06: a child has no voice of its own, whatever the operator says.
func TestAChildCannotSendAFile(t *testing.T) {
	t.Parallel()
	prompts := make(chan []string, 10)
	env := gatewaytest.Open(t, gatewaytest.Options{Change: func(c *settings.Config) {
		c.Subagents.Tools = []string{"read_file", "send_file"}
	}, Brain: func(_ context.Context, p *model.Prompt) model.Answer {
		var names []string
		for _, tool := range p.Tools {
			names = append(names, tool.Name)
		}
		prompts <- names
		last := ""
		for _, m := range p.Messages {
			for _, r := range m.Results {
				last = r.Text
			}
		}
		switch {
		case last != "":
			return model.Reply(model.Say("it said: " + last))
		case slices.Contains(names, "write_file"):
			return model.Reply(model.Use("sessions_spawn", map[string]string{"task": "send it"}))
		}
		return model.Reply(model.Use("send_file", map[string]string{"path": "a.txt"}))
	}})
	got := env.Start().Ask(gatewaytest.Ann, "go")
	if !strings.Contains(got, "Unknown tool 'send_file'") {
		t.Errorf("the child was told %q", got)
	}
	if root, child := <-prompts, <-prompts; !slices.Contains(root, "send_file") || slices.Contains(child, "send_file") {
		t.Errorf("the root sees %q, the child %q", root, child)
	}
}
