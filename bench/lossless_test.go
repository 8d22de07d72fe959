package bench

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"parley/simulators/model"
	"parley/simulators/telegram"
)

// BenchmarkKillUnderLoad is ten messages a second, to a model that thinks for 200
// ms, while a process is killed ever again and started at once. It fails when
// anything is lost, out of order, or there twice without a mark; what is there
// twice with a mark, because nobody can know whether the platform took it, is
// counted. After a kill and a restart, over-restart-and-model is what the next
// answer took beyond those two; with several processes the next answer comes from
// another one, and slowest-ms is the answer that waited longest.
func BenchmarkKillUnderLoad(b *testing.B) {
	const thinks, rate = 200 * time.Millisecond, 10
	for _, c := range []struct {
		on    deployment
		kills int
		every time.Duration // about
	}{{embedded, tenth(20), 3 * time.Second}, {peers2, max(tenth(8), 1), 15 * time.Second}} {
		b.Run(c.on.name, func(b *testing.B) {
			w := newWorld(b, worldOptions{Latency: thinks, Audit: true})
			f := c.on.open(b, w, nil)
			atMost(b, 1, func() {
				answers := make(chan []time.Duration, 1)
				seconds := int((time.Duration(c.kills+1) * c.every).Seconds()) + 5
				go func() {
					answers <- w.paced(b, pace{Rate: rate, Messages: rate * seconds, People: 200})
				}()
				falls := killInTurn(b, f, c.kills, c.every)
				took := <-answers
				if len(took) != rate*seconds || b.Failed() {
					b.FailNow()
				}
				var over, restart, next []time.Duration
				for _, k := range falls {
					at, ok := w.audit.after(k.gone)
					if !ok {
						b.Fatal("no answer came after the last kill")
					}
					next = append(next, at.Sub(k.gone))
					restart = append(restart, k.ready.Sub(k.gone))
					over = append(over, at.Sub(k.ready)-thinks)
				}
				w.audit.check(b, w.telegram.Books())
				reportTimes(b, took, thinks)
				b.ReportMetric(milliseconds(slices.Max(took)-thinks), "slowest-ms")
				b.ReportMetric(float64(len(falls)), "kills")
				b.ReportMetric(float64(len(took)), "answers")
				b.ReportMetric(float64(w.audit.marked), "marked-repeats")
				b.ReportMetric(milliseconds(median(restart)), "restart-p50-ms")
				b.ReportMetric(milliseconds(median(next)), "next-answer-p50-ms")
				b.ReportMetric(milliseconds(slices.Max(next)), "next-answer-max-ms")
				if c.on.nodes == 0 {
					b.ReportMetric(milliseconds(median(over)), "over-restart-and-model-p50-ms")
					b.ReportMetric(milliseconds(slices.Max(over)), "over-restart-and-model-max-ms")
				}
			})
		})
	}
}

// fall is one kill: when the process was gone, and when the next one had started.
type fall struct{ gone, ready time.Time }

// killInTurn kills one process after the other, and starts each again at once.
func killInTurn(b *testing.B, f *fleet, kills int, every time.Duration) (falls []fall) {
	b.Helper()
	// Not in step with the messages, and the same in every run.
	random := rand.New(rand.NewPCG(8, 8)) // it must repeat
	for n := range kills {
		select { // not for an event: this is when the kill falls
		case <-time.After(every - every/8 + time.Duration(random.Int64N(int64(every/4)))):
		case <-b.Context().Done():
			return falls
		}
		i := n % len(f.procs)
		f.procs[i].kill()
		gone := time.Now()
		f.again(i)
		falls = append(falls, fall{gone, gone.Add(f.procs[i].ready)})
	}
	return falls
}

// BenchmarkRefusals is five chats that get ten messages in a second each, then
// again when all is answered, while one of ten calls of the model fails and one
// of ten sends is answered 429 with a second to wait. It fails when anything is
// lost, out of order or there twice. after-429 is from the refused send to the
// next one in that chat, less the second.
func BenchmarkRefusals(b *testing.B) {
	const chats, burst, wait = 5, 10, time.Second
	for _, d := range []deployment{embedded, workers2} {
		b.Run(d.name, func(b *testing.B) {
			w := newWorld(b, worldOptions{Audit: true})
			if err := w.model.Plan(model.Fault{Kind: model.FaultStatus, Status: 529, Probability: 0.1, Seed: 9}); err != nil {
				b.Fatal(err)
			}
			if err := w.telegram.Plan(telegram.Fault{
				Trouble: telegram.TooManyRequests, Method: "sendMessage", Probability: 0.1, RetryAfter: int(wait.Seconds()),
			}); err != nil {
				b.Fatal(err)
			}
			d.open(b, w, func(p *plan) { p.WhileBusy = "queue" })
			atMost(b, 1, func() {
				var took []time.Duration
				for round := range max(tenth(6), 2) {
					took = append(took, burstInto(b, w, round, chats, burst)...)
				}
				books := w.telegram.Books()
				w.audit.check(b, books)
				refused, late := refusals(b, books, wait)
				slices.Sort(late)
				reportTimes(b, took, 0)
				b.ReportMetric(float64(len(took)), "answers")
				b.ReportMetric(float64(w.audit.marked), "marked-repeats")
				b.ReportMetric(float64(refused), "refused-sends")
				b.ReportMetric(float64(w.model.Bill().Outcomes[model.Refused]), "failed-calls")
				b.ReportMetric(float64(books.Totals.Violations), "early-sends")
				b.ReportMetric(milliseconds(percentile(late, 0.50)), "after-429-p50-ms")
				b.ReportMetric(milliseconds(percentile(late, 0.95)), "after-429-p95-ms")
			})
		})
	}
}

// burstInto writes ten messages a second into each of so many chats for a second,
// and returns what the answers took.
func burstInto(b *testing.B, w *world, round, chats, burst int) (took []time.Duration) {
	b.Helper()
	var questions []*question
	tick := time.NewTicker(time.Second / time.Duration(burst))
	defer tick.Stop()
	for n := range burst {
		<-tick.C
		for chat := range chats {
			questions = append(questions, w.say(int64(1+chat), fmt.Sprintf("message %d of burst %d into %d", n, round, chat)))
		}
	}
	for _, q := range questions {
		d, err := q.wait(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		took = append(took, d)
	}
	return took
}

// refusals counts the sends that were refused, and how long after the wait that
// it was told each chat was sent something again.
func refusals(b *testing.B, books telegram.Book, wait time.Duration) (refused int, late []time.Duration) {
	b.Helper()
	since := map[int64]time.Time{}
	for _, c := range books.Calls {
		if c.Method != "sendMessage" {
			continue
		}
		if at, ok := since[c.ChatID]; ok {
			late = append(late, c.At.Sub(at)-wait)
			delete(since, c.ChatID)
		}
		if c.Status == http.StatusTooManyRequests {
			refused++
			since[c.ChatID] = c.At
		}
	}
	if len(late) == 0 {
		b.Fatal("no send was refused and sent again")
	}
	return refused, late
}
