package broker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// minAPILevel is that of nats-server 2.12.
const minAPILevel = 2

const (
	dedupeWindow  = 10 * time.Minute
	ackWait       = 2 * time.Second
	maxAckPending = 20_000
)

// checkServer says clearly what is missing before anything fails obscurely.
func checkServer(ctx context.Context, nc *nats.Conn, js jetstream.JetStream) error {
	info, err := js.AccountInfo(ctx)
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return errors.New("the nats server has JetStream switched off, for this account at least")
	case err != nil:
		return fmt.Errorf("ask the nats server for JetStream: %w", err)
	case info.API.Level < minAPILevel:
		return fmt.Errorf("nats server %s (JetStream API level %d) is too old: 2.12 or newer is needed, 2.15.2 recommended",
			nc.ConnectedServerVersion(), info.API.Level)
	}
	return nil
}

// syncsSafely reports whether a server's version has the known repairs of
// syncing to disk, all in 2.15.2.
func syncsSafely(version string) bool {
	version, _, _ = strings.Cut(version, "-")
	want := []int{2, 15, 2}
	for i, p := range strings.SplitN(version, ".", 3) {
		n, err := strconv.Atoi(p)
		if err != nil || n < want[i] {
			return false
		}
		if n > want[i] {
			return true
		}
	}
	return true
}

// streamConfigs returns the streams as they must be.
func (o Options) streamConfigs() []jetstream.StreamConfig {
	inbound := jetstream.StreamConfig{
		Name:        streamInbound,
		Description: "what people wrote, one subject for each conversation",
		Subjects:    []string{subjectsInbound},
		Retention:   jetstream.LimitsPolicy, // work queues forget ids of acknowledged messages at a restart
		Discard:     jetstream.DiscardNew,   // full means an error to the sender, never a silent loss
		Storage:     jetstream.FileStorage,
		MaxBytes:    o.MaxBytes,
		MaxMsgs:     -1, MaxConsumers: -1, MaxMsgSize: -1, MaxMsgsPerSubject: -1,
		Replicas:    o.Replicas,
		Duplicates:  dedupeWindow,
		AllowDirect: true,
	}
	dead := inbound
	dead.Name, dead.Description = streamDead, "what was given up"
	dead.Subjects = []string{subjectsDead, deadEvents}
	dead.AllowMsgTTL = true
	dead.MaxBytes = o.deadBytes()
	dead.MaxMsgsPerSubject = 1 // with the next line: an id is stored once, for ever
	dead.DiscardNewPerSubject = true

	facts := inbound
	facts.Name, facts.Description = streamFacts, "what a store may not forget"
	facts.Subjects = []string{subjectFacts}
	facts.MaxBytes = o.factsBytes()

	leases := inbound
	leases.Name, leases.Description = streamLeases, "who may do what only one process may"
	leases.Subjects = []string{prefixLease + ">"}
	leases.MaxBytes, leases.MaxMsgsPerSubject = smallBytes, 1
	leases.AllowMsgTTL, leases.SubjectDeleteMarkerTTL = true, time.Second
	leases.AllowRollup, leases.DenyDelete = true, true
	leases.Duplicates = time.Second

	watch := inbound
	watch.Name, watch.Description = streamWatch, "the watchdog's last probe"
	watch.Subjects = []string{subjectWatch}
	watch.Discard = jetstream.DiscardOld
	watch.MaxBytes, watch.MaxMsgs = smallBytes, 1
	watch.Duplicates = time.Second
	return []jetstream.StreamConfig{inbound, dead, facts, leases, watch}
}

const smallBytes = 1 << 20

func (o Options) factsBytes() int64 { return max(o.MaxBytes/2, 64<<10) }

func (o Options) deadBytes() int64 { return max(o.MaxBytes/8, 64<<10) }

// ensureStreams creates what is missing and brings limits up to date. What an
// operator set beyond them, such as placement, is left.
func (o Options) ensureStreams(ctx context.Context, js jetstream.JetStream) error {
	for _, want := range o.streamConfigs() {
		if err := o.ensureStream(ctx, js, want); err != nil {
			return err
		}
	}
	_, err := js.CreateOrUpdateConsumer(ctx, streamInbound, dispatchConfig())
	if err != nil {
		return fmt.Errorf("create consumer %s: %w", consumerDispatch, err)
	}
	return nil
}

func (o Options) ensureStream(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig) error {
	s, err := js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = js.CreateStream(ctx, o.named(want))
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another process was faster, and named it
			s, err = js.Stream(ctx, want.Name)
		}
		if err != nil {
			return fmt.Errorf("create stream %s: %w", want.Name, tooFewServersError(err, want.Replicas))
		}
	} else if err != nil {
		return fmt.Errorf("look for stream %s: %w", want.Name, err)
	}
	have := s.CachedInfo().Config
	if err := checkUsable(have, want); err != nil {
		return fmt.Errorf("stream %s %w; delete or recreate it", want.Name, err)
	}
	if next, differs := mergeConfig(have, want); differs {
		if _, err := js.UpdateStream(ctx, next); err != nil {
			return fmt.Errorf("update stream %s: %w", want.Name, tooFewServersError(err, want.Replicas))
		}
	}
	return nil
}

// named is a stream at a URL that is to be made, with the generation of the log if it is the one
// that has it: the tools by which operators copy and restore streams keep that, and not the moment
// in which a stream was made.
func (o Options) named(want jetstream.StreamConfig) jetstream.StreamConfig {
	if want.Name == streamInbound && o.URL != "" {
		want.Metadata = map[string]string{generationKey: o.Now().UTC().Format(time.RFC3339Nano) + "-" + rand.Text()}
	}
	return want
}

// checkUsable reports what of a stream that is there cannot be mended by an update.
func checkUsable(have, want jetstream.StreamConfig) error {
	switch {
	case have.PersistMode == jetstream.AsyncPersistMode:
		return errors.New("has persist mode async, which confirms what is not stored")
	case have.Storage != want.Storage:
		return errors.New("is kept in memory, and all of it is lost when its servers end")
	case have.Retention != want.Retention:
		return fmt.Errorf("has the retention %s, and forgets what is still needed", have.Retention)
	}
	return nil
}

// The server's words for more replicas than servers.
const (
	errCodeNoPeers     = 10005
	errCodeNoResources = 10074 // it is no cluster
)

func tooFewServersError(err error, replicas int) error {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok && replicas > 1 &&
		(api.ErrorCode == errCodeNoPeers || api.ErrorCode == errCodeNoResources) {
		return fmt.Errorf("%d copies of each message (broker.replicas) need as many nats servers in one cluster, all running: %w", replicas, err)
	}
	return err
}

func mergeConfig(have, want jetstream.StreamConfig) (jetstream.StreamConfig, bool) {
	next := have
	next.Subjects, next.Retention, next.Discard = want.Subjects, want.Retention, want.Discard
	next.DiscardNewPerSubject, next.MaxMsgsPerSubject = want.DiscardNewPerSubject, want.MaxMsgsPerSubject
	next.MaxBytes, next.MaxMsgs, next.MaxAge = want.MaxBytes, want.MaxMsgs, want.MaxAge
	next.Replicas, next.Duplicates, next.AllowDirect = want.Replicas, want.Duplicates, true
	next.AllowMsgTTL, next.SubjectDeleteMarkerTTL = want.AllowMsgTTL, want.SubjectDeleteMarkerTTL
	next.AllowRollup, next.DenyDelete = want.AllowRollup, want.DenyDelete
	differs := strings.Join(have.Subjects, " ") != strings.Join(next.Subjects, " ") ||
		have.Retention != next.Retention || have.Discard != next.Discard ||
		have.DiscardNewPerSubject != next.DiscardNewPerSubject || have.MaxMsgsPerSubject != next.MaxMsgsPerSubject ||
		have.MaxBytes != next.MaxBytes || have.MaxMsgs != next.MaxMsgs || have.MaxAge != next.MaxAge ||
		have.AllowMsgTTL != next.AllowMsgTTL || have.SubjectDeleteMarkerTTL != next.SubjectDeleteMarkerTTL ||
		have.AllowRollup != next.AllowRollup || have.DenyDelete != next.DenyDelete ||
		have.Replicas != next.Replicas || have.Duplicates != next.Duplicates || !have.AllowDirect
	return next, differs
}

func dispatchConfig() jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable:       consumerDispatch,
		Description:   "wakes a worker for each message",
		DeliverPolicy: jetstream.DeliverAllPolicy,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       ackWait,
		MaxDeliver:    -1,
		MaxAckPending: maxAckPending,
		FilterSubject: mailboxes,
	}
}
