package gatewaytest

import (
	"sync"
	"time"

	"parley/gateway"
	"parley/wake"
)

// answers is a queue without an end: few tests ask for what was delivered, and a channel
// with room for all of it would be allocated for each gateway.
type answers struct {
	mu    sync.Mutex
	queue []gateway.Answer
	more  wake.Signal // holds one when something was put
}

func newAnswers() *answers { return &answers{more: wake.New()} }

func (q *answers) put(a gateway.Answer) {
	q.mu.Lock()
	q.queue = append(q.queue, a)
	q.mu.Unlock()
	q.more.Send()
}

// take waits for the first and removes it; only one goroutine may take.
func (q *answers) take(patience time.Duration) (gateway.Answer, bool) {
	end := time.After(patience)
	for {
		q.mu.Lock()
		if len(q.queue) > 0 {
			a := q.queue[0]
			q.queue = q.queue[1:]
			q.mu.Unlock()
			return a, true
		}
		q.mu.Unlock()
		select {
		case <-q.more:
		case <-end:
			return gateway.Answer{}, false
		}
	}
}
