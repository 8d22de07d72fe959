package gateway_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"parley/broker/brokertest"
	"parley/gateway"
	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/gateway/tracing/tracingtest"
	"parley/sessionkeys"
	"parley/sessions/redis"
	"parley/sessions/redis/redistest"
	"parley/simulators/model"
	"parley/simulators/telegram"

	"parley/costs"
)

// cluster is what several processes share: three servers of a log, and Redis.
type cluster struct {
	nodes *brokertest.Nodes
	redis *redistest.Server
	env   *gatewaytest.Env
	spans *tracingtest.Collector
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	return newClusterWith(t, func(_ context.Context, p *model.Prompt) model.Answer {
		a := model.Reply(model.Say("you said " + p.LastText()))
		a.Latency = 20 * time.Millisecond
		return a
	})
}

// newClusterWith is newCluster with a model of its own.
func newClusterWith(t *testing.T, brain model.Brain) *cluster {
	t.Helper()
	c := &cluster{nodes: brokertest.Cluster(t, 3), redis: redistest.Start(t, redistest.Options{})}
	spans, url := collect(t)
	c.spans = spans
	c.env = gatewaytest.Open(t, gatewaytest.Options{
		Brain: brain,
		Change: func(cfg *settings.Config) {
			cfg.Broker.URL, cfg.Broker.Replicas = c.nodes.URL(), 3
			cfg.Store.Redis.URL = settings.NewSecret(c.redis.URL)
			traced(url)(cfg)
		},
	})
	return c
}

// as starts one more gateway, a process of its own but for the process.
func (c *cluster) as(name string, roles ...string) *gatewaytest.Running {
	return c.env.StartAs(func(cfg *settings.Config) {
		cfg.Name, cfg.Roles, cfg.StateDir = name, roles, filepath.Join(c.env.Dir, name)
	})
}

// ledger is what the store says was spent.
func (c *cluster) ledger(t *testing.T) float64 {
	t.Helper()
	store, err := redis.Open(t.Context(), redis.Options{URL: c.redis.Unhurried()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	var sum costs.Amount
	if err := store.Ledger(t.Context(), "", func(_ sessionkeys.SessionID, e costs.Entry) bool { sum += e.Amount; return true }); err != nil {
		t.Fatal(err)
	}
	return sum.Dollars()
}

var costSeries = regexp.MustCompile(`(?m)^parley_(?:llm|tool)_cost_usd_total\{[^}]*\} (\S+)$`)

var question = regexp.MustCompile(`question-\d+-\d+`)

func questionIn(text string) string { return question.FindString(text) }

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// exporters are how many of the pages of metrics show the cost, and its sum over
// all of them.
func exporters(pages ...string) (n int, sum float64) {
	for _, page := range pages {
		series := costSeries.FindAllStringSubmatch(page, -1)
		if len(series) > 0 {
			n++
		}
		for _, m := range series {
			var v float64
			_, _ = fmt.Sscan(m[1], &v)
			sum += v
		}
	}
	return n, sum
}

// counted says whether a series, given with the space behind it, is on the page
// and not 0.
func counted(page, series string) bool {
	return strings.Contains(page, series) && !strings.Contains(page, series+"0\n")
}

// eventually asks again until the patience is over.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(gatewaytest.Patience); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("waited for %s", what)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-t.Context().Done():
		}
	}
}

// conflicts are the polls that met another: two received for the bot at once.
func conflicts(b telegram.Book) (n int) {
	for _, c := range b.Calls {
		if c.Method == "getUpdates" && c.Status == http.StatusConflict {
			n++
		}
	}
	return n
}

// Two gateways and two workers answer as one: each conversation in its order, the
// work spread, one receiving at a time, the cost exported once; also when the
// gateway that receives and exports ends, and a server of the log is killed.
func TestSeveralProcessesAnswerAsOne(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	front, w1 := c.as("front-1", settings.RoleGateway), c.as("worker-1", settings.RoleWorker)
	eventually(t, "the first to receive", func() bool { return c.env.Telegram.Books().Polling[gatewaytest.Username] })
	second, w2 := c.as("front-2", settings.RoleGateway), c.as("worker-2", settings.RoleWorker)

	const chats = 8
	said, asked := 0, 0
	round := func() { // three messages in each chat
		t.Helper()
		for to := said + 3; said < to; said++ {
			for chat := range chats {
				p := telegram.Person{ID: int64(7000 + chat), FirstName: "P"}
				c.env.Say(telegram.PrivateChat(p), p, fmt.Sprintf("question-%d-%d", chat, said))
				asked++
			}
		}
		c.env.Await("every answer", func(b telegram.Book) bool { return len(answersOf(b)) == asked })
	}
	round()
	wantTraceOverProcesses(t, c.spans)
	pages := func(rs ...*gatewaytest.Running) (ps []string) {
		for _, r := range rs {
			ps = append(ps, r.Scrape())
		}
		return ps
	}
	// The pages are read one after another, and meanwhile another process may have
	// taken the export over: two that are seen twice export at the same time.
	exported := func(all ...*gatewaytest.Running) {
		t.Helper()
		eventually(t, "one to export what the ledger holds", func() bool {
			n, sum := exporters(pages(all...)...)
			if n > 1 {
				if n, _ := exporters(pages(all...)...); n > 1 {
					t.Fatalf("%d processes export the cost", n)
				}
			}
			return n == 1 && sum > 0 && near(sum, c.ledger(t))
		})
	}
	exported(front, second, w1, w2)
	// A worker that has just started may come too late for the first of them.
	eventually(t, "both workers to have had something to do", func() bool {
		for _, r := range []*gatewaytest.Running{w1, w2} {
			if !counted(r.Scrape(), `parley_turns_total{channel="tg",chat="dm",outcome="ok"} `) {
				round()
				return false
			}
		}
		return true
	})
	eventually(t, "one to receive for the bot", func() bool {
		return strings.Count(strings.Join(pages(front, second), ""), `parley_channel_up{channel="tg"} 1`) == 1
	})

	c.nodes.Kill(c.nodes.Leader("INBOUND"))
	front.Stop() // in order: the other takes over at once
	round()
	exported(second, w1, w2)

	book := c.env.Telegram.Books()
	if n := conflicts(book); n != 0 {
		t.Errorf("two received for the bot at the same time, %d times", n)
	}
	inOrder(t, book)
}

// answersOf are the questions that were answered.
func answersOf(b telegram.Book) map[string]int {
	m := map[string]int{}
	for _, e := range b.Messages {
		if id := questionIn(e.Text()); id != "" {
			m[id]++
		}
	}
	return m
}

// inOrder holds each chat's first answers to the order of its questions, and
// every repeat to its mark.
func inOrder(t *testing.T, b telegram.Book) {
	t.Helper()
	next := map[int64]int{}
	seen := map[string]bool{}
	for _, e := range b.Messages {
		id := questionIn(e.Text())
		var chat int64
		var n int
		if _, err := fmt.Sscanf(id, "question-%d-%d", &chat, &n); err != nil {
			t.Errorf("chat %d was told %q", e.ChatID, e.Text())
			continue
		}
		if seen[id] {
			if strings.HasPrefix(e.Text(), "you said") {
				t.Errorf("%s was answered twice, and not marked so", id)
			}
			continue
		}
		seen[id] = true
		if e.ChatID != 7000+chat || n != next[chat] {
			t.Errorf("chat %d got the answer %s, and not number %d", e.ChatID, id, next[chat])
		}
		next[chat]++
	}
}

// The real binary that receives and exports is killed. Another one receives, what
// was said meanwhile is answered, and the cost stays the ledger's.
func TestAKilledProcessIsFollowedByAnother(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	config := func(name string) string {
		path := filepath.Join(c.env.Dir, name+".yaml")
		text := fmt.Sprintf(`
state_dir: %s
name: %s
broker: {url: "%s", replicas: 3}
store: {redis: {url: "%s"}}
channels: {telegram: {tg: {token: "%s", api_url: %s, pace: 200, access: {everyone: true}, while_busy: queue}}}
providers: {sim: {kind: anthropic, base_url: %s, prices: demo}}
agents: {main: {model: sim/demo, window: 200000}}
ops: {listen: "127.0.0.1:0"}
log: {format: json}
limits: {person_per_minute: -1, queue: -1}
`, filepath.Join(c.env.Dir, name), name, c.nodes.URL(), c.redis.URL, gatewaytest.Token, c.env.Telegram.URL(), c.env.Model.URL())
		noError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	polling := func() bool { return c.env.Telegram.Books().Polling[gatewaytest.Username] }
	first := start(t, config("one"))
	eventually(t, "the first to receive", polling)
	second := start(t, config("two"))
	said := 0
	say := func(n int) {
		for range n {
			p := telegram.Person{ID: int64(7000 + said%3), FirstName: "P"}
			c.env.Say(telegram.PrivateChat(p), p, fmt.Sprintf("question-%d-%d", said%3, said/3))
			said++
		}
	}
	say(6)
	c.env.Await("the first answers", func(b telegram.Book) bool { return len(answersOf(b)) == said })
	say(3)
	killed := time.Now()
	first.kill()
	say(3)
	eventually(t, "another to receive", polling)
	t.Logf("received for again %s after the kill", time.Since(killed).Round(10*time.Millisecond))
	book := c.env.Await("every answer", func(b telegram.Book) bool { return len(answersOf(b)) == said })
	t.Logf("all answered %s after the kill", time.Since(killed).Round(10*time.Millisecond))
	inOrder(t, book)
	eventually(t, "the cost to be exported again", func() bool {
		n, sum := exporters(second.scrape())
		return n == 1 && near(sum, c.ledger(t))
	})
	// The dead one comes back, and stands by.
	first = start(t, config("one"))
	if n, _ := exporters(first.scrape()); n != 0 {
		t.Error("two processes export the cost")
	}
	say(3)
	c.env.Await("every answer", func(b telegram.Book) bool { return len(answersOf(b)) == said })
	if n := conflicts(c.env.Telegram.Books()); n != 0 {
		t.Errorf("two received for the bot at the same time, %d times", n)
	}
}

// Two processes with a database each on one log: the second is refused.
func TestASecondDatabaseOnTheSameLogIsRefused(t *testing.T) {
	t.Parallel()
	nodes := brokertest.Cluster(t, 1)
	log := &lines{}
	env := gatewaytest.Open(t, gatewaytest.Options{
		Log:    slog.New(slog.NewTextHandler(log, nil)),
		Change: func(cfg *settings.Config) { cfg.Broker.URL, cfg.Broker.Lease = nodes.URL(), 2*time.Second },
	})
	one := env.Start()
	if got := one.Ask(gatewaytest.Ann, "hello"); got == "" {
		t.Error("no answer")
	}
	refused := func(cfg settings.Config, words string) {
		t.Helper()
		for {
			started, err := runs(t, cfg)
			if started && strings.Contains(log.String(), "lease expired without renewal") {
				t.Log("everything stood still for so long that the first lost its lease: once more")
				log.reset()
				continue
			}
			if started || err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("the second started: %v, and ended with %v", started, err)
			}
			return
		}
	}
	cfg := env.Config()
	cfg.Name, cfg.StateDir = "two", filepath.Join(env.Dir, "two")
	refused(cfg, "give all of them store.redis")
	// And the same folder cannot be used twice at all.
	cfg.StateDir, cfg.Broker.URL = env.Config().StateDir, ""
	refused(cfg, "another process has it open")
}

// runs starts a gateway and ends it as soon as it has started, if it does.
func runs(t *testing.T, cfg settings.Config) (started bool, err error) {
	t.Helper()
	g, err := gateway.New(cfg, gateway.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), gatewaytest.Patience)
	defer stop()
	go func() {
		select {
		case <-g.Started():
			stop()
		case <-ctx.Done():
		}
	}()
	err = g.Run(ctx)
	select {
	case <-g.Started():
		return true, err
	default:
		return false, err
	}
}
