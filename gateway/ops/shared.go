package ops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"parley/broker"
	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
)

// Store is the part of the store that is looked at.
type Store interface {
	sessions.Survey
	Backlog(ctx context.Context) (sessions.Backlog, error)
}

// Log is the part of the message log that is looked at.
type Log interface {
	Stats(ctx context.Context) (broker.Stats, error)
	Waiting(ctx context.Context, token string, after uint64) (int, error)
	NextAtLeast(ctx context.Context, token string, after, expect uint64) (broker.Envelope, error)
}

const (
	ranks        = 10               // of the dearest sessions
	activeFor    = 15 * time.Minute // a session, after its turn began
	readMost     = 4 * time.Second  // one reading takes
	queuesListed = 10_000           // conversations with waiting messages
	queuesRead   = 256              // of those, whose messages are counted
)

// DefaultRead is how long a reading is good for.
const DefaultRead = 5 * time.Second

// Shared exports what the store and the log know, which every process of a
// deployment sees alike: aggregate with max, never sum. It is read at a scrape,
// at most once in a while; what cannot be read is missing from the scrape.
type Shared struct {
	Store   Store
	Log     Log
	Checks  []Check         // by name: dependency_up
	Budgets func() []Budget // as they are configured at present; nil: there are none
	Now     func() time.Time
	Process Process
	// Every is how long a reading is good for. 0: DefaultRead.
	Every time.Duration

	m        *Metrics
	channels []string
	descs    sharedDescs

	mu        sync.Mutex // guards the rest
	read      time.Time
	last      []prometheus.Metric
	instances map[[2]string]string // by network and account
}

type sharedDescs struct {
	queued, active, rank, pending, unconfirmed, redeliveries, dependency, limit, spent, held *prometheus.Desc

	dead, deadBytes, deadLimit, deadDropped, signalDrops *prometheus.Desc

	logBytes, logLimit, answers, ambiguous, oldestAnswer, oldestMessage *prometheus.Desc

	ready, slots, busySlots, database, diskFree, diskSize *prometheus.Desc // of the process, and its machine
}

// NewShared is for the channels of s. The answers of providers are m's.
func NewShared(m *Metrics, s LabelSets) *Shared {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("parley_"+name, help, labels, nil)
	}
	return &Shared{
		m: m, channels: s.withCaps().Channels, Now: time.Now, instances: map[[2]string]string{},
		descs: sharedDescs{
			queued:       desc("queue_messages", "Messages waiting for their session's turn.", "channel"),
			active:       desc("sessions_active", "Sessions with a turn in the last 15 minutes.", "channel", "chat"),
			rank:         desc("session_cost_rank_usd", "Cost today of the n-th dearest session; the operator page says which.", "rank"),
			pending:      desc("jetstream_consumer_pending_messages", "Not delivered; aggregate with max.", "stream", "consumer"),
			unconfirmed:  desc("jetstream_consumer_ack_pending_messages", "Not acknowledged; aggregate with max.", "stream", "consumer"),
			redeliveries: desc("jetstream_redeliveries_total", "Received with delivery count above one.", "stream", "consumer"),
			dead:         desc("dead_letters", "Dead letters that wait for a person; aggregate with max."),
			deadBytes:    desc("dead_letters_bytes", "Size of the dead letters; aggregate with max."),
			deadLimit:    desc("dead_letters_limit_bytes", "Room for dead letters; aggregate with max."),
			deadDropped:  desc("dead_letters_dropped_total", "Dead letters of unreadable events that gave way to others."),
			signalDrops:  desc("signals_dropped_total", "Signals dropped because their listener was slow; what they showed is not seen."),
			limit:        desc("budget_limit_usd", "Budget as configured, with what it is raised by (absent when none).", "scope", "name", "window"),
			spent:        desc("budget_spent_usd", "Spend in the window, from the ledger; aggregate with max.", "scope", "name", "window"),
			dependency:   desc("dependency_up", "Last check succeeded.", "dependency"),

			held:          desc("budget_held_usd", "Money set aside in the window for calls that run, and for calls of which nobody knows whether they were made; aggregate with max.", "scope", "name", "window"),
			logBytes:      desc("message_log_bytes", "Size of the message log; aggregate with max."),
			logLimit:      desc("message_log_limit_bytes", "Room for the message log, when it is full nothing is accepted; absent when it has no limit."),
			answers:       desc("outbox_answers", "Answers that are not sent to their end; aggregate with max."),
			ambiguous:     desc("outbox_ambiguous_messages", "Messages of those that may have arrived already; aggregate with max."),
			oldestAnswer:  desc("outbox_oldest_seconds", "How long the first of those answers waits, 0 when none does; aggregate with max."),
			oldestMessage: desc("queue_oldest_seconds", "How long the conversation that has waited longest waits for a turn, 0 when none does; aggregate with max."),
			ready:         desc("ready", "1 if this process accepts messages."),
			slots:         desc("turn_slots", "Turns that this process may run at once."),
			busySlots:     desc("turn_slots_busy", "Those of them that are taken."),
			database:      desc("database_bytes", "Size of the database on the disk of this process, 0 where it is elsewhere."),
			diskFree:      desc("state_disk_free_bytes", "Free bytes on the disk of the state folder."),
			diskSize:      desc("state_disk_size_bytes", "Size of the disk of the state folder."),
		},
	}
}

// Describe is part of prometheus.Collector.
func (s *Shared) Describe(ch chan<- *prometheus.Desc) {
	d := s.descs
	for _, d := range []*prometheus.Desc{
		d.queued, d.active, d.rank, d.pending, d.unconfirmed, d.redeliveries, d.dependency, d.limit, d.spent, d.held, d.dead, d.deadBytes, d.deadLimit, d.deadDropped, d.signalDrops,
		d.logBytes, d.logLimit, d.answers, d.ambiguous, d.oldestAnswer, d.oldestMessage, d.ready, d.slots, d.busySlots, d.database, d.diskFree, d.diskSize,
	} {
		ch <- d
	}
}

// Collect is part of prometheus.Collector.
func (s *Shared) Collect(ch chan<- prometheus.Metric) {
	now := s.Now()
	for _, m := range s.cachedMetrics(now) {
		ch <- m
	}
	ctx, cancel := context.WithTimeout(context.Background(), readMost)
	defer cancel()
	for _, m := range s.collectBudgets(ctx, now) { // money is never old
		ch <- m
	}
	for name, up := range s.m.known.Load().providers {
		ch <- constGauge(s.descs.dependency, boolValue(up.Load()), dependencyName(name, s.Checks))
	}
}

// dependencyName keeps a provider apart from what parley itself depends on.
func dependencyName(provider string, checks []Check) string {
	if slices.ContainsFunc(checks, func(c Check) bool { return c.Metric == provider }) {
		return "provider_" + provider
	}
	return provider
}

func (s *Shared) cachedMetrics(now time.Time) []prometheus.Metric {
	s.mu.Lock()
	defer s.mu.Unlock()
	every := s.Every
	if every == 0 {
		every = DefaultRead
	}
	if s.last == nil || now.Before(s.read) || now.Sub(s.read) >= every {
		ctx, cancel := context.WithTimeout(context.Background(), readMost)
		defer cancel()
		s.last = slices.Concat(s.collectDependencies(ctx), s.collectRanking(ctx, now), s.collectActivity(ctx, now), s.collectQueues(ctx), s.collectBacklog(ctx, now), s.collectConsumer(ctx), s.collectProcess(ctx))
		s.read = now
	}
	return s.last
}

func (s *Shared) collectDependencies(ctx context.Context) (ms []prometheus.Metric) {
	for _, c := range s.Checks {
		ms = append(ms, constGauge(s.descs.dependency, boolValue(c.Test(ctx) == nil), c.Metric))
	}
	return ms
}

func (s *Shared) collectRanking(ctx context.Context, now time.Time) (ms []prometheus.Metric) {
	as, err := s.Store.Dearest(ctx, now, ranks)
	if err != nil {
		return missingMetrics(err, s.descs.rank)
	}
	for i := range ranks {
		var a costs.Amount
		if i < len(as) {
			a = as[i]
		}
		ms = append(ms, constGauge(s.descs.rank, a.Dollars(), strconv.Itoa(i+1)))
	}
	return ms
}

func (s *Shared) collectActivity(ctx context.Context, now time.Time) (ms []prometheus.Metric) {
	as, err := s.Store.Active(ctx, now.Add(-activeFor))
	if err != nil {
		return missingMetrics(err, s.descs.active)
	}
	n := map[[2]string]int{}
	for _, c := range s.channels {
		for _, k := range chatKinds {
			n[[2]string{c, k}] = 0
		}
	}
	for _, a := range as {
		n[[2]string{s.m.channels.label(a.Channel), chatLabel(a.Kind == sessionkeys.DM)}] += a.Sessions
	}
	for l, v := range n {
		ms = append(ms, constGauge(s.descs.active, float64(v), l[0], l[1]))
	}
	return ms
}

// collectQueues counts what waits. When very many conversations wait, those that wait
// longest are counted, and of the others one message each: that many at least.
func (s *Shared) collectQueues(ctx context.Context) (ms []prometheus.Metric) {
	qs, _, err := s.Store.Queues(ctx, queuesListed)
	if err != nil {
		return missingMetrics(err, s.descs.queued)
	}
	n := map[string]int{}
	for _, c := range s.channels {
		n[c] = 0
	}
	for i, q := range qs {
		var channel string
		if channel, err = s.channelOf(ctx, q); err != nil {
			break
		}
		waiting := 1
		if i < queuesRead {
			if waiting, err = s.Log.Waiting(ctx, q.Token, q.LastRead); err != nil {
				break
			}
		}
		n[channel] += waiting
	}
	if err != nil {
		return missingMetrics(err, s.descs.queued)
	}
	for c, v := range n {
		ms = append(ms, constGauge(s.descs.queued, float64(v), c))
	}
	return ms
}

// channelOf returns the configured name of the account that a conversation is with:
// its waiting messages carry it. Other: there is none any more.
func (s *Shared) channelOf(ctx context.Context, q sessions.Queue) (string, error) {
	account := [2]string{q.Address.Channel, q.Address.Account}
	if name, ok := s.instances[account]; ok {
		return name, nil
	}
	e, err := s.Log.NextAtLeast(ctx, q.Token, q.LastRead, 0)
	if errors.Is(err, broker.ErrNone) {
		return Other, nil
	}
	if err != nil {
		return "", fmt.Errorf("read what waits: %w", err)
	}
	var body struct {
		Channel string `json:"channel"`
	}
	_ = json.Unmarshal(e.Body, &body) // what is no message of ours names no channel of ours
	if !s.m.channels[body.Channel] {
		return Other, nil
	}
	s.instances[account] = body.Channel
	return body.Channel, nil
}

func (s *Shared) collectConsumer(ctx context.Context) []prometheus.Metric {
	d := s.descs
	st, err := s.Log.Stats(ctx)
	counters := []prometheus.Metric{
		prometheus.MustNewConstMetric(d.redeliveries, prometheus.CounterValue, float64(st.Redeliveries), st.Stream, st.Consumer),
		prometheus.MustNewConstMetric(d.deadDropped, prometheus.CounterValue, float64(st.DeadDropped)),
		prometheus.MustNewConstMetric(d.signalDrops, prometheus.CounterValue, float64(st.SignalDrops)),
	}
	if err != nil {
		return append(missingMetrics(err, d.pending, d.unconfirmed, d.dead, d.deadBytes, d.deadLimit, d.logBytes), counters...)
	}
	if st.MaxBytes > 0 {
		counters = append(counters, constGauge(d.logLimit, float64(st.MaxBytes)))
	}
	return append(counters,
		constGauge(d.logBytes, float64(st.Bytes)),
		constGauge(d.pending, float64(st.Pending), st.Stream, st.Consumer),
		constGauge(d.unconfirmed, float64(st.AckPending), st.Stream, st.Consumer),
		constGauge(d.dead, float64(st.DeadLetters)),
		constGauge(d.deadBytes, float64(st.DeadBytes)),
		constGauge(d.deadLimit, float64(st.DeadMaxBytes)),
	)
}

// constGauge returns a value of d. The labels are text of ours, as many as d has.
func constGauge(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

// missingMetrics says at the scrape why there is nothing.
func missingMetrics(err error, ds ...*prometheus.Desc) (ms []prometheus.Metric) {
	for _, d := range ds {
		ms = append(ms, prometheus.NewInvalidMetric(d, err))
	}
	return ms
}

func boolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
