package gateway_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// plainTurn is what SQLite runs for one message and its answer: how many times, and what it does
// to which table. "SELECT sessions" is no part of a turn: who hears of each answer, as this test
// does and `parley try`, hears what its conversation cost.
const plainTurn = `
3 BEGIN IMMEDIATE
3 COMMIT
1 SELECT sessions
1 SELECT spend
1 DELETE reservations
1 INSERT asked
1 INSERT inbox
1 INSERT ledger
2 INSERT messages
1 INSERT outbox
1 INSERT outbox_parts
1 INSERT reservations
2 INSERT spend
1 INSERT totals
1 INSERT turns
1 INSERT wordings
3 UPDATE generation
2 UPDATE mailboxes
1 UPDATE outbox
1 UPDATE outbox_parts
2 UPDATE sessions
1 UPDATE turns
`

// mostPace is a pace at which a chat may get a message each millisecond. No turn is as fast.
const mostPace = 1000

// A statement more is not noticed anywhere else, and each costs about a hundredth of a turn.
func TestAPlainTurnTakesTheseStatements(t *testing.T) {
	beside(t) // what is done each second is in each turn that takes one
	s := &statements{count: map[string]int{}, over: make(chan struct{}, 1)}
	env := gatewaytest.Open(t, gatewaytest.Options{
		Brain: model.Demo(0), Statement: s.note, CommitWait: time.Minute,
		// An answer that waits for the network's limit is begun by a commit of its own.
		OnTelegram: func(o *telegram.Options) { o.Pace = mostPace },
		Change: func(c *settings.Config) {
			tg := c.Channels.Telegram["tg"]
			tg.Pace = mostPace
			c.Channels.Telegram["tg"] = tg
		},
	})
	gw := env.Start()
	turn := func() map[string]int {
		gw.Ask(gatewaytest.Ann, "hello")
		select {
		case <-s.over:
		case <-time.After(gatewaytest.Patience):
			t.Fatal("the answer is never done in the outbox")
		}
		return s.take()
	}
	turn() // which makes mailbox, session and more
	const turns = 16
	var each []map[string]int
	for range turns {
		each = append(each, turn())
	}
	got := map[string]int{}
	for _, counts := range each {
		for what := range counts {
			got[what] = usual(each, what)
		}
	}
	want, sum := map[string]int{}, 0
	for line := range strings.Lines(strings.TrimSpace(plainTurn)) {
		number, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.Atoi(number)
		noError(t, err)
		want[what] = n
	}
	var list strings.Builder
	maps.DeleteFunc(got, func(_ string, n int) bool { return n == 0 })
	for _, what := range slices.Sorted(maps.Keys(got)) {
		sum += got[what]
		fmt.Fprintf(&list, "%d %s\n", got[what], what)
	}
	t.Logf("%d statements\n%s", sum, list.String())
	if !maps.Equal(got, want) {
		t.Error("a plain turn takes other statements than plainTurn says")
	}
}

// usual returns how often what is done in a turn. What is done once in a while comes on top in
// some of them, on a slow machine in most.
func usual(turns []map[string]int, what string) int {
	var counts []int
	for _, t := range turns {
		counts = append(counts, t[what])
	}
	slices.Sort(counts)
	return counts[len(counts)/4]
}

// statements counts what SQLite runs.
type statements struct {
	mu    sync.Mutex
	count map[string]int
	done  bool          // an answer will be done with the next commit
	over  chan struct{} // holds one when it is
}

func (s *statements) note(query string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what := nameStatement(query)
	s.count[what]++
	switch {
	case what == "UPDATE outbox":
		s.done = true
	case what == "COMMIT" && s.done:
		s.done = false
		s.over <- struct{}{}
	}
}

func (s *statements) take() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := s.count
	s.count = map[string]int{}
	return counts
}

// nameStatement returns what a statement does, and to which table first.
func nameStatement(query string) string {
	words := strings.Fields(query)
	table := func(before string) string {
		if i := slices.Index(words, before); i >= 0 && i+1 < len(words) {
			return words[i+1]
		}
		return ""
	}
	switch verb := words[0]; verb {
	case "WITH", "SELECT":
		return "SELECT " + table("FROM")
	case "INSERT":
		return "INSERT " + table("INTO")
	case "DELETE":
		return "DELETE " + table("FROM")
	case "UPDATE":
		return "UPDATE " + words[1]
	default:
		return strings.Join(words, " ")
	}
}

// callsOfRedis is how often a plain turn of a process that does everything has scripts called. A step
// that asks for one thing more is not noticed anywhere else.
const callsOfRedis = 11

// TestAPlainTurnTakesFewCallsOfRedis: each is a journey that an answer waits for, or a commit.
func TestAPlainTurnTakesFewCallsOfRedis(t *testing.T) {
	beside(t) // as above
	c := newCluster(t)
	gw := c.as("alone")
	gw.Ask(gatewaytest.Ann, "hello") // which makes mailbox, session and more
	var each []int
	for range 16 {
		before := c.redis.ScriptCalls()
		gw.Ask(gatewaytest.Ann, "hello")
		each = append(each, c.redis.ScriptCalls()-before)
	}
	slices.Sort(each) // some have what is done each second
	if each[len(each)/4] != callsOfRedis {
		t.Errorf("the turns took %v calls, and usually not %d", each, callsOfRedis)
	}
}
