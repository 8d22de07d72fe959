package gateway_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/gateway/activity"
	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/simulators/slack"
	"parley/simulators/telegram"
	"parley/tools"
	"parley/tools/commandline"
	"parley/tools/programs"
	"parley/tools/web"
)

// Each secret of the canaries begins and ends with a mark, and has between them what each way
// of writing changes.
const canaryBegin, canaryEnd = "Kanarie", "Vogel"

// canaries are the secrets of a gateway, each another one.
type canaries struct {
	telegram, slackBot, slackApp, slackSigning, provider, parameter, search, tool string
	environ                                                                       string // a variable that no configuration names
}

func newCanaries() canaries {
	n := 0
	next := func(format string) string {
		n++
		return fmt.Sprintf(format, canaryBegin+strconv.Itoa(10+n), canaryEnd)
	}
	return canaries{
		telegram: next("4200000001:%s-aaaaaaaaaaaaaaaaaaaaa%s"), slackBot: next("xoxb-1-%s-x-%s"), slackApp: next("xapp-1-%s-x-%s"), slackSigning: next("%sxxxx%s"),
		provider: next("%s/+&=.%s"), parameter: next("%s/+&=.%s"), search: next("%s/+&=\".%s"), tool: next("%s/+&=\"<ä>'.%s"), environ: next("%s/+&=.%s"),
	}
}

func (c canaries) all() []string {
	return []string{c.telegram, c.slackBot, c.slackApp, c.slackSigning, c.provider, c.parameter, c.search, c.tool}
}

// configure has a gateway use the secrets, and gives its agents every tool that may show one.
func (c canaries) configure(cfg *settings.Config, front, engine string) {
	tg, sl := cfg.Channels.Telegram["tg"], cfg.Channels.Slack["sl"]
	tg.Token = settings.NewSecret(c.telegram)
	tg.Access.Approvers = []string{"1001"} // Ann
	cfg.Channels.Telegram["tg"] = tg
	sl.BotToken, sl.AppToken, sl.SigningSecret = settings.NewSecret(c.slackBot), settings.NewSecret(c.slackApp), settings.NewSecret(c.slackSigning)
	cfg.Channels.Slack["sl"] = sl
	sim := cfg.Providers["sim"]
	sim.APIKey, sim.BaseURL, sim.Retry.Max = settings.NewSecret(c.provider), front, -1
	cfg.Providers["sim"] = sim
	cfg.Web.Search = settings.WebSearchConfig{Kind: web.KindBrave, URL: engine + "/?api_key=" + url.QueryEscape(c.parameter), Key: settings.NewSecret(c.search)}
	cfg.Bash.Enabled = true
}

// everySpelling writes texts down in the ways in which tools, servers and errors do.
func everySpelling(secrets []string) string {
	var b strings.Builder
	for _, s := range secrets {
		quoted, _ := json.Marshal(s)
		nested, _ := json.Marshal(string(quoted))
		for i, form := range []string{
			s, hex.EncodeToString([]byte(s)), fmt.Sprintf("%X", s), url.QueryEscape(s), url.PathEscape(s), string(quoted), string(nested), strconv.Quote(s), strconv.QuoteToASCII(s), html.EscapeString(s),
			base64.StdEncoding.EncodeToString([]byte(s)), base64.StdEncoding.EncodeToString([]byte("u" + s)), base64.RawURLEncoding.EncodeToString([]byte("us" + s)),
			"https://u:" + url.QueryEscape(s) + "@h/", "Authorization: Bearer " + s,
		} {
			fmt.Fprintf(&b, "%d. %s\n", i, form)
		}
	}
	return b.String()
}

// findCanaries returns what of a secret is in data, however it is written.
func findCanaries(data []byte) (found []string) {
	for _, mark := range []string{canaryBegin, canaryEnd} {
		forms := []string{mark, hex.EncodeToString([]byte(mark)), fmt.Sprintf("%X", mark)}
		for shift := range 3 {
			first, last := []int{0, 2, 3}[shift], (shift+len(mark))*8/6
			forms = append(forms, base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("\x00", shift) + mark))[first:last])
		}
		for _, form := range forms {
			if at := bytes.Index(data, []byte(form)); at >= 0 {
				found = append(found, fmt.Sprintf("%q", data[max(0, at-60):min(len(data), at+60)]))
			}
		}
	}
	return found
}

// shared is a buffer that many write to.
type shared struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *shared) bytes() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.b.Bytes())
}

// nest is a gateway with canaries in it, and everything that it says.
type nest struct {
	t       *testing.T
	secrets canaries
	env     *gatewaytest.Env
	gw      *gatewaytest.Running
	log     shared
	events  shared
	stop    func() // the listening to events
}

// openNest starts a gateway whose providers and search engine tell what they know as soon as
// they are asked. extra adapts the configuration; answers has the model answer.
func openNest(t *testing.T, answers model.Brain, extra func(*settings.Config)) *nest {
	t.Helper()
	n := &nest{t: t, secrets: newCanaries()}
	leak := everySpelling(n.secrets.all())
	var target string
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := new(bytes.Buffer)
		_, _ = body.ReadFrom(r.Body)
		for word, status := range map[string]int{"refuse it": 400, "fail at it": 500, "deny it": 401} {
			if bytes.Contains(body.Bytes(), []byte(word)) {
				w.WriteHeader(status)
				text, _ := json.Marshal(map[string]any{"type": "error", "error": map[string]string{"type": "invalid_request_error", "message": "you sent " + r.Header.Get("X-Api-Key") + "\n" + leak}})
				_, _ = w.Write(text)
				return
			}
		}
		if bytes.Contains(body.Bytes(), []byte("hang up")) {
			panic(http.ErrAbortHandler)
		}
		to, _ := url.Parse(target)
		r.Body, r.ContentLength = http.NoBody, int64(body.Len())
		proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(to)
			p.Out.Body = readCloser{body}
		}, FlushInterval: -1}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.RawQuery, "nothing") {
			http.Error(w, leak, http.StatusInternalServerError)
			return
		}
		text, _ := json.Marshal(map[string]any{"type": "search", "web": map[string]any{"results": []map[string]string{{
			"title": "you sent " + r.Header.Get("X-Subscription-Token"), "url": "https://example.org/?q=" + url.QueryEscape(n.secrets.search), "description": leak,
		}}}})
		_, _ = w.Write(text)
	}))
	t.Cleanup(engine.Close)
	n.env = gatewaytest.Open(t, gatewaytest.Options{
		Brain: answers, Networks: []gatewaytest.Network{gatewaytest.Telegram, gatewaytest.Slack},
		Log:        slog.New(slog.NewJSONHandler(&n.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		OnTelegram: func(o *telegram.Options) { o.Bots[0].Token = n.secrets.telegram },
		OnSlack: func(o *slack.Options) {
			o.Apps[0].BotToken, o.Apps[0].AppToken, o.Apps[0].SigningSecret = n.secrets.slackBot, n.secrets.slackApp, n.secrets.slackSigning
		},
		Change: func(c *settings.Config) {
			n.secrets.configure(c, front.URL, engine.URL)
			extra(c)
		},
	})
	target = n.env.Model.URL()
	n.gw = n.env.Start()
	n.listen()
	return n
}

type readCloser struct{ *bytes.Buffer }

func (readCloser) Close() error { return nil }

// listen takes what listeners to events get.
func (n *nest) listen() {
	n.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	begun, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_ = admin.NewClient(n.gw.AdminSocket()).Events(ctx, "", func() { close(begun) }, func(_ activity.Event, line []byte) error {
			_, err := n.events.Write(append(bytes.Clone(line), '\n'))
			return err
		})
	}()
	<-begun
	n.stop = func() { cancel(); <-ended }
	n.t.Cleanup(n.stop)
}

// said returns all that the gateway says while it runs, by whom.
func (n *nest) said() map[string][]byte {
	n.t.Helper()
	all := map[string][]byte{"/metrics": []byte(n.gw.Scrape())}
	_, ready := n.get("/readyz")
	all["/readyz"] = []byte(ready)
	client := admin.NewClient(n.gw.AdminSocket())
	add := func(name string, v any, err error) {
		n.t.Helper()
		noError(n.t, err)
		b, err := json.Marshal(v)
		noError(n.t, err)
		all[name] = b
	}
	ctx := n.t.Context()
	st, err := client.Status(ctx)
	add("parley status", st, err)
	usage, err := client.Usage(ctx, admin.UsageQuery{By: "model"})
	add("parley usage", usage, err)
	list, err := client.Sessions(ctx, admin.SessionQuery{})
	add("parley sessions ls", list, err)
	asked, err := client.Approvals(ctx)
	add("parley approvals ls", asked, err)
	for _, a := range asked.Approvals {
		d, err := client.Approval(ctx, a.ID)
		add("parley approvals show", d, err)
	}
	for _, s := range list.Sessions {
		d, err := client.Session(ctx, string(s.ID), true)
		add("parley sessions show "+string(s.ID), d, err)
		all["parley sessions export "+string(s.ID)] = recordingOf(n.t, n.gw, string(s.ID))
	}
	noError(n.t, client.DeadLetters().List(ctx, func(l admin.DeadLetter) bool {
		d, err := client.DeadLetters().Show(ctx, l.ID, true)
		add("parley dead-letters show", d, err)
		return true
	}))
	for _, r := range n.env.Telegram.Books().Messages {
		all["telegram"] = append(all["telegram"], r.Text()+"\n"...)
	}
	return all
}

func (n *nest) get(path string) (int, string) {
	n.t.Helper()
	resp, err := http.Get("http://" + n.gw.OpsAddr() + path) //nolint:noctx // a test's own gateway
	noError(n.t, err)
	defer func() { _ = resp.Body.Close() }()
	var b bytes.Buffer
	_, err = b.ReadFrom(resp.Body)
	noError(n.t, err)
	return resp.StatusCode, b.String()
}

// files returns what the gateway has on disk.
func (n *nest) files() map[string][]byte {
	n.t.Helper()
	all := map[string][]byte{}
	noError(n.t, filepath.WalkDir(n.env.Config().StateDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		all[path], err = os.ReadFile(path)
		return err
	}))
	return all
}

// check holds that nothing of what was said shows a secret.
func (n *nest) check(what map[string][]byte) {
	n.t.Helper()
	for name, data := range what {
		for _, found := range findCanaries(data) {
			n.t.Errorf("%s shows %s", name, found)
		}
	}
}

// checkProcesses looks at what was started for a tool, from outside and while it runs: at the
// environment and the arguments of each process. The tool says that it runs by the file begun,
// and ends with the file end.
func (n *nest) checkProcesses(begun, end string) {
	n.t.Helper()
	folder := n.gw.Folder(gatewaytest.Ann)
	n.env.Say(telegram.PrivateChat(gatewaytest.Ann), gatewaytest.Ann, "stay {}")
	tick, limit := time.NewTicker(5*time.Millisecond), time.After(gatewaytest.Patience)
	defer tick.Stop()
	for {
		if _, err := os.Stat(filepath.Join(folder, begun)); err == nil {
			break
		}
		select {
		case <-tick.C:
		case <-limit:
			n.t.Fatal("the program does not begin")
		}
	}
	looked := 0
	for _, pid := range descendants(n.t, os.Getpid()) {
		for _, file := range []string{"environ", "cmdline"} {
			data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file)) // not of a process that is another's
			if err == nil && len(data) > 0 {
				looked++
			}
			n.check(map[string][]byte{fmt.Sprintf("process %d, %s", pid, file): data})
		}
	}
	if looked == 0 {
		n.t.Error("no process of a tool can be looked at")
	}
	noError(n.t, os.WriteFile(filepath.Join(folder, end), nil, 0o600))
	if got := n.env.DeliveredText(telegram.PrivateChat(gatewaytest.Ann), n.gw.NextDelivered()); !strings.Contains(got, "went") {
		n.t.Errorf("the program ended with %s", got)
	}
}

// descendants returns the processes below one.
func descendants(t *testing.T, root int) (all []int) {
	t.Helper()
	below := map[int][]int{}
	entries, err := os.ReadDir("/proc")
	noError(t, err)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // it may have ended
		if f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])); len(f) > 1 {
			parent, _ := strconv.Atoi(f[1])
			below[parent] = append(below[parent], pid)
		}
	}
	for todo := below[root]; len(todo) > 0; todo = append(todo[1:], below[todo[0]]...) {
		all = append(all, todo[0])
	}
	return all
}

// program is a command line of a script, for everybody.
func program(t *testing.T, name, script string, env ...programs.Variable) commandline.Spec {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	noError(t, os.WriteFile(path, []byte("#!/bin/bash\n"+script+"\n"), 0o755)) // a program
	p, err := programs.FindProgram(path, "")
	noError(t, err)
	return commandline.Spec{Name: name, Description: name, Category: tools.Write, Cmd: name, Program: p, Env: env}
}
