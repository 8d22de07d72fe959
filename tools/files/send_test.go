package files_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/tools"
	"parley/tools/files"
)

// sends calls send_file for one turn, a path after the other.
func sends(t *testing.T, h fixture, c files.Config, chat *mirror, sent int, paths ...string) (said []string) {
	t.Helper()
	s, err := files.NewSender(c)
	if err != nil {
		t.Fatal(err)
	}
	tool := s.Bind(chat, sent)
	for _, path := range paths {
		a, err := tools.DecodeArguments(`{"path":"` + path + `"}`)
		if err != nil {
			t.Fatal(err)
		}
		res, err := tool.Run(t.Context(), tools.Call{Name: files.SendName, Arguments: a.JSON(), Workspace: h.ws})
		if err != nil {
			said = append(said, err.Error())
		} else {
			said = append(said, res.Content)
		}
	}
	return said
}

func TestAFileIsSentUnderItsOwnNameAndKind(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	png := "\x89PNG\r\n\x1a\n" + strings.Repeat("x", 40)
	for name, text := range map[string]string{"sub/Übersicht 1.pdf": "%PDF-1.7", "picture": png, "notes": "words\n", "x\u202egnp.exe": "MZ"} {
		h.write(t, filepath.Join(h.ws, name), text)
	}
	chat := &mirror{}
	said := sends(t, h, files.Config{}, chat, 0, "sub/Übersicht 1.pdf", "picture", "./sub/../notes", "x\u202egnp.exe")
	want := []files.Outfile{
		{Name: "Übersicht 1.pdf", MIME: "application/pdf", Size: 8},
		{Name: "picture", MIME: "image/png", Size: 48},
		{Name: "notes", MIME: "text/plain; charset=utf-8", Size: 6},
		{Name: "xgnp.exe", Size: 2},
	}
	if len(chat.sent) == 4 {
		want[3].MIME = chat.sent[3].MIME // the machine's own table says what it is
	}
	if d := cmp.Diff(want, chat.sent); d != "" {
		t.Errorf("%s\n%q", d, said)
	}
	if chat.got != "%PDF-1.7"+png+"words\n"+"MZ" {
		t.Errorf("sent was %q", chat.got)
	}
	if want := "Übersicht 1.pdf (8 bytes) is on its way into the chat; it comes before your answer."; said[0] != want {
		t.Errorf("the model was told %q", said[0])
	}
}

func TestWhatCannotBeSentIsRefusedInWords(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.write(t, filepath.Join(h.ws, "empty"), "")
	h.write(t, filepath.Join(h.ws, "four"), "1234")
	for name, c := range map[string]struct {
		config files.Config
		chat   mirror
		sent   int
		paths  []string
		want   []string
	}{
		"an empty file":            {paths: []string{"empty"}, want: []string{"the file is empty"}},
		"a folder":                 {paths: []string{"sub", "sub/", "."}, want: []string{"path not allowed", "path not allowed", "path not allowed"}},
		"what is not there":        {paths: []string{"none"}, want: []string{"not found"}},
		"more than the operator's": {config: files.Config{MaxSend: 3}, paths: []string{"four"}, want: []string{"too large: at most 3 bytes"}},
		"more than the network's":  {chat: mirror{known: true, limit: 2}, paths: []string{"four"}, want: []string{"too large: at most 2 bytes"}},
		"a chat without files":     {chat: mirror{known: true}, paths: []string{"four"}, want: []string{"files cannot be sent into this chat"}},
		"what the call sent before": {
			config: files.Config{MaxSends: 1}, chat: mirror{before: files.Outfile{Name: "b.txt", Size: 7}}, sent: 1, paths: []string{"none"},
			want: []string{"b.txt (7 bytes) is on its way"},
		},
		"too many": {
			config: files.Config{MaxSends: 3}, sent: 1, paths: []string{"four", "none", "four", "four", "four"},
			want: []string{"is on its way", "not found", "is on its way", "3 files were sent", "3 files were sent"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chat := c.chat
			said := sends(t, h, c.config, &chat, c.sent, c.paths...)
			n := 0
			for i, want := range c.want {
				if !strings.Contains(said[i], want) {
					t.Errorf("%s: told %q, want %q", c.paths[i], said[i], want)
				}
				if want == "is on its way" { // and it was not before
					n++
				}
			}
			if len(chat.sent) != n {
				t.Errorf("%d were sent", len(chat.sent))
			}
		})
	}
}

// It is measured when it is opened, and may have grown when it is read.
func TestAFileThatGrowsWhileItIsSentIsTooLarge(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s, err := files.NewSender(files.Config{MaxSend: 8})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(h.ws, "log")
	h.write(t, path, "1234")
	chat := &growing{grow: func() {
		if err := os.WriteFile(path, []byte("123456789"), 0o600); err != nil {
			t.Error(err)
		}
	}}
	_, err = s.Bind(chat, 0).Run(t.Context(), tools.Call{Name: files.SendName, Arguments: []byte(`{"path":"log"}`), Workspace: h.ws})
	if err == nil || !strings.Contains(err.Error(), "too large: at most 8 bytes") || len(chat.sent) != 0 {
		t.Errorf("got %v", err)
	}
}

// growing is a chat during whose question the file grows.
type growing struct {
	mirror
	grow func()
}

func (g *growing) Send(ctx context.Context, c tools.Call, f files.Outfile, content io.Reader, limit int64) (files.Outfile, error) {
	g.grow()
	return g.mirror.Send(ctx, c, f, content, limit)
}

func TestWhoIsBoundToNoTurnSendsNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s, err := files.NewSender(files.Config{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Tool().Run(t.Context(), tools.Call{Name: files.SendName, Arguments: []byte(`{"path":"a.txt"}`), Workspace: h.ws})
	if err == nil || err.Error() != "no file can be sent from here" {
		t.Errorf("got %v", err)
	}
	if r, ok := s.Tool().(tools.Resumable); !ok || !r.Resumable() || s.Tool().Category(tools.Call{Arguments: []byte(`{"path":"a.txt"}`)}) != tools.Write {
		t.Error("it is not of category write, or may not run again")
	}
}

// Binding the tool to a turn makes no schema again, which costs hundreds of allocations.
func TestBindingToATurnIsCheap(t *testing.T) {
	s, err := files.NewSender(files.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { s.Bind(nil, 0) }); n > 10 {
		t.Errorf("%.0f allocations", n)
	}
}
