package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"parley/simulators/model"
	"parley/simulators/telegram"
)

// H03, I11: the binary has its secrets from its environment. Neither what it writes, nor its
// files, nor what its commands and pages tell shows one of them, in whatever spelling, after
// tools have printed all that they see. gateway/canary_test.go has the rest.
func TestTheBinaryShowsNoSecretOfItsEnvironment(t *testing.T) {
	t.Parallel()
	tg, m := sims(t, func(_ context.Context, p *model.Prompt) model.Answer {
		if rs := p.Answering(); len(rs) > 0 {
			return model.Reply(model.Say("it says:\n" + rs[0].Text))
		}
		tool, arg, _ := strings.Cut(p.LastText(), " ")
		return model.Reply(model.Use(tool, map[string]string{map[string]string{"bash": "command", "read_file": "path"}[tool]: arg}))
	})
	root := t.TempDir()
	leak := filepath.Join(root, "leak.txt")
	text := fmt.Sprintf("plain %s\nhex %x\nbase64 %s\n", token, key+token, base64.StdEncoding.EncodeToString([]byte("u:"+token)))
	if err := os.WriteFile(leak, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	config := written(t, tg.URL(), m.URL(), "127.0.0.1:0")
	add(t, config, fmt.Sprintf("bash: {enabled: true}\nfiles: {extra_roots: [%q]}\n", root))
	p := start(t, environment, "run", "--config", config)
	for _, ask := range []string{"bash env", "read_file " + leak} {
		before := len(tg.Books().Messages)
		say(t, tg, ask)
		await(t, tg, "the answer to "+ask, func(b telegram.Book) bool { return len(b.Messages) > before })
		settled(t, config)
	}
	said := map[string][]byte{}
	for _, m := range tg.Books().Messages {
		said["the chat"] = append(said["the chat"], m.Text()+"\n"...)
	}
	if n := bytes.Count(said["the chat"], []byte("[redacted]")); n < 3 || !bytes.Contains(said["the chat"], []byte("PATH=")) && !bytes.Contains(said["the chat"], []byte("Unknown tool 'bash'")) {
		t.Errorf("%d secrets were taken out of %s", n, said["the chat"])
	}
	id := strings.Fields(saidOf(t, "sessions", "ls", "-c", config))
	session := ""
	for _, word := range id {
		if regexp.MustCompile(`^[0-9A-Z]{26}$`).MatchString(word) {
			session = word
		}
	}
	for _, args := range [][]string{{"status", "--json"}, {"usage"}, {"sessions", "show", session, "--transcript"}, {"sessions", "export", session}} {
		said[strings.Join(args, " ")] = []byte(saidOf(t, append(args, "-c", config)...))
	}
	ops := regexp.MustCompile(`"ops":"([^"]+)"`).FindStringSubmatch(p.err.String())
	if ops == nil {
		t.Fatalf("the log does not say where the metrics are: %s", p.err.String())
	}
	resp, err := http.Get("http://" + ops[1] + "/metrics") //nolint:noctx // of a process of this test
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	_, err = page.ReadFrom(resp.Body)
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil || !strings.Contains(page.String(), "parley_") {
		t.Fatalf("the metrics: %v, %s", err, page.String())
	}
	said["the metrics"] = page.Bytes()
	if got := p.end(syscall.SIGTERM); got != exitOK {
		t.Errorf("it ended with %d", got)
	}
	said["the log"] = []byte(p.err.String())
	state := filepath.Join(filepath.Dir(config), "state")
	err = filepath.WalkDir(state, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			said[path], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil || len(said[filepath.Join(state, "parley.db")]) == 0 {
		t.Errorf("the files of the state: %v", err)
	}
	for name, data := range said {
		for _, form := range []string{"canary7", hex.EncodeToString([]byte("canary7")), "Y2FuYXJ5N", "NhbmFyeT", "jYW5hcnk3"} {
			if at := bytes.Index(data, []byte(form)); at >= 0 {
				t.Errorf("%s shows %q", name, data[max(0, at-60):min(len(data), at+60)])
			}
		}
	}
}
