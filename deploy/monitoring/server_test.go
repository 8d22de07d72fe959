package monitoring_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for what must come; only one that fails
// waits that long.
const patience = 60 * time.Second

const (
	scrapeEvery   = time.Second
	evaluateEvery = 100 * time.Millisecond
)

// watcher is a Prometheus of its own, with the rules that are shipped.
type watcher struct {
	t   *testing.T
	url string
	log *output
	at  time.Time // what is asked is asked for this time
}

type output struct {
	mu  sync.Mutex
	buf bytes.Buffer // guarded by mu
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// asShipped leaves a file of rules as it is, atOnce takes out how long something must last.
func asShipped(rules string) string { return rules }

func atOnce(rules string) string { return lasts.ReplaceAllString(rules, "") }

var lasts = regexp.MustCompile(`(?m)^ +for: .*\n`)

// startPrometheus scrapes target, host:port, and knows the rules that are shipped after
// change.
func startPrometheus(t *testing.T, target string, change func(string) string) *watcher {
	t.Helper()
	program := installed(t, "prometheus")
	dir := t.TempDir()
	shipped, err := filepath.Glob("[ra]*/*.yml") // rules and alerts
	if err != nil || len(shipped) != 2 {
		t.Fatalf("%v: %v", shipped, err)
	}
	for _, name := range shipped {
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, strings.ReplaceAll(name, "/", "-")), []byte(change(string(text))), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	config := fmt.Sprintf(`
global: {scrape_interval: %[3]s, scrape_timeout: %[3]s, evaluation_interval: %[4]s}
rule_files: [%[1]s/*s-parley.yml]
scrape_configs:
  - job_name: parley
    static_configs: [{targets: [%[2]q]}]
`, dir, target, scrapeEvery, evaluateEvery)
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &watcher{t: t, log: &output{}}
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0", "--enable-feature=exemplar-storage")
	cmd.Stdout, cmd.Stderr = p.log, p.log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait() // it was told to end
	})
	p.await("prometheus to say where it listens", func() bool {
		said := listening.FindStringSubmatch(p.log.String())
		if said != nil {
			p.url = "http://" + said[1]
		}
		return said != nil
	})
	p.await("prometheus to be ready", func() bool {
		_, err := p.get("/-/ready")
		return err == nil
	})
	return p
}

// listening is what Prometheus logs with the address that it got.
var listening = regexp.MustCompile(`msg="Listening on" address=(127\.0\.0\.1:\d+)`)

func (p *watcher) get(path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, nil)
	if err != nil {
		return nil, err
	}
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, body) // for the test's output
	}
	return body, err
}

// await asks until done.
func (p *watcher) await(what string, done func() bool) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			p.t.Fatalf("waiting for %s; prometheus said:\n%s", what, p.log)
		}
	}
}

// ask reads data of an answer of the API into out.
func (p *watcher) ask(path string, out any) {
	p.t.Helper()
	body, err := p.get(path)
	if err != nil {
		p.t.Fatal(err)
	}
	answer := struct{ Data any }{out}
	if err := json.Unmarshal(body, &answer); err != nil {
		p.t.Fatalf("%s: %v: %s", path, err, body)
	}
}

// scraped waits for a scrape that began after this moment and was followed by an
// evaluation of all rules before the next one. What is asked from then on is
// asked for that time, so that it does not matter when a slow machine asks.
func (p *watcher) scraped() {
	p.t.Helper()
	now := time.Now()
	p.await("a scrape and the rules after it", func() bool {
		var d struct {
			ActiveTargets []struct {
				LastScrape         time.Time
				LastScrapeDuration float64
				Health             string
			}
		}
		p.ask("/api/v1/targets?state=active", &d)
		if len(d.ActiveTargets) == 0 {
			return false // it has not read its configuration yet
		}
		last := d.ActiveTargets[0]
		if last.Health != "up" || !last.LastScrape.After(now) {
			return false
		}
		p.at = time.Time{}
		seen := last.LastScrape.Add(time.Duration(last.LastScrapeDuration*1e9) + evaluateEvery + 50*time.Millisecond)
		gs := p.groups()
		for _, g := range gs {
			if !g.LastEvaluation.After(seen) || g.LastEvaluation.After(last.LastScrape.Add(scrapeEvery-100*time.Millisecond)) {
				return false
			}
			if g.LastEvaluation.After(p.at) {
				p.at = g.LastEvaluation
			}
		}
		return len(gs) > 0
	})
}

type group struct {
	Name           string
	LastEvaluation time.Time
	Rules          []struct{ Name, Health, LastError, State string }
}

func (p *watcher) groups() []group {
	p.t.Helper()
	var d struct{ Groups []group }
	p.ask("/api/v1/rules", &d)
	return d.Groups
}

// query is an instant query: values by labels.
func (p *watcher) query(expr string) map[string]float64 {
	p.t.Helper()
	var d struct {
		Result []struct {
			Metric map[string]string
			Value  [2]any
		}
	}
	p.ask("/api/v1/query?query="+url.QueryEscape(expr)+"&time="+p.at.UTC().Format("2006-01-02T15:04:05.000Z"), &d)
	all := map[string]float64{}
	for _, r := range d.Result {
		text, _ := r.Value[1].(string)
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			p.t.Fatalf("%s: %v", expr, err)
		}
		all[key(r.Metric)] = v
	}
	return all
}

// key is the labels of a cost, or all of them.
func key(m map[string]string) string {
	if m["agent_kind"] != "" && m["channel"] != "" {
		return m["provider"] + "/" + m["model"] + "/" + m["channel"] + "/" + m["agent_kind"]
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// door is one address for gateways that follow one another on addresses of
// their own.
type door struct {
	*httptest.Server
	behind atomic.Pointer[url.URL]
}

func newDoor(t *testing.T) *door {
	t.Helper()
	d := &door{}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(d.behind.Load()) },
		Transport: &http.Transport{DisableKeepAlives: true},
		ErrorLog:  log.New(io.Discard, "", 0), // while one gateway follows another nobody is there
	}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.behind.Load() == nil {
			http.Error(w, "nobody is there", http.StatusBadGateway)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(d.Close)
	return d
}

func (d *door) open(address string) {
	d.behind.Store(&url.URL{Scheme: "http", Host: address})
}
