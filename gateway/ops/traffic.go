package ops

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"parley/gateway/outcomes"
)

var deadReasons = []string{"unreadable", "address", "encoding", "too_large", "attempts", "key", "foreign"}

// traffic counts messages that come and go, and what becomes of the channels' connections.
type traffic struct {
	channels                                                channelSet
	received, ignored, deduplicated, deadLettered, attached *prometheus.CounterVec
	sent, sendRetries, reconnects                           *prometheus.CounterVec
	sendTook                                                *prometheus.HistogramVec
	up, lastEvent                                           *prometheus.GaugeVec
}

func newTraffic(f factory, channels channelSet) *traffic {
	t := &traffic{channels: channels}
	t.received = f.counter("messages_received_total", "Messages received, before deduplication.", "channel", "chat")
	t.ignored = f.counter("messages_ignored_total", "Received messages not answered.", "channel", "reason")
	t.deduplicated = f.counter("messages_deduplicated_total", "Received messages dropped as duplicates.", "channel", "reason")
	t.deadLettered = f.counter("messages_dead_lettered_total", "Received messages given up and kept as dead letters.", "channel", "reason")
	t.attached = f.counter("attachments_total", "Files that came with messages, by what became of them.", "channel", "outcome")
	t.sent = f.counter("messages_sent_total", "Messages sent by final outcome; ambiguous: the platform may or may not have delivered it.", "channel", "outcome")
	t.sendRetries = f.counter("message_send_retries_total", "Send attempts after the first.", "channel", "reason")
	t.sendTook = f.histogram("message_send_duration_seconds", "Time to send one message, retries included.", stepBuckets, "channel")
	t.up = f.gauge("channel_up", "1 if connected.", "channel")
	t.reconnects = f.counter("channel_reconnects_total", "Connections re-established.", "channel")
	t.lastEvent = f.gauge("channel_last_event_timestamp_seconds", "Unix time of the last event.", "channel")
	for c := range channels {
		t.up.WithLabelValues(c)
		t.reconnects.WithLabelValues(c)
		t.lastEvent.WithLabelValues(c)
		t.sendTook.WithLabelValues(c)
		for _, k := range chatKinds {
			t.received.WithLabelValues(c, k)
		}
		for vec, values := range map[*prometheus.CounterVec][]string{
			t.ignored:      {outcomes.NotMentioned, outcomes.NotAllowed, outcomes.Unsupported, outcomes.TooLarge, outcomes.Limited, outcomes.Closed, outcomes.NoRoom},
			t.deduplicated: {"message_id", "edit", "echo"},
			t.deadLettered: deadReasons,
			t.attached:     outcomes.Files(),
			t.sent:         {"ok", "rejected", "ambiguous", "dropped"},
			t.sendRetries:  {"rate_limited", "network", "server"},
		} {
			for _, v := range values {
				vec.WithLabelValues(c, v)
			}
		}
	}
	for _, r := range deadReasons { // of what names no channel
		t.deadLettered.WithLabelValues(Other, r)
	}
	return t
}

// CountReceived counts a message before anything is decided about it.
func (t *traffic) CountReceived(channel string, dm bool) {
	t.received.WithLabelValues(t.channels.label(channel), chatLabel(dm)).Inc()
}

// CountIgnored counts a message that is not answered.
func (t *traffic) CountIgnored(channel, reason string) {
	t.ignored.WithLabelValues(t.channels.label(channel), reason).Inc()
}

// CountDuplicate counts a message that was known.
func (t *traffic) CountDuplicate(channel, reason string) {
	t.deduplicated.WithLabelValues(t.channels.label(channel), reason).Inc()
}

// CountDeadLetter counts a message that was given up.
func (t *traffic) CountDeadLetter(channel, reason string) {
	t.deadLettered.WithLabelValues(t.channels.label(channel), reason).Inc()
}

// SetConnected reports whether a channel is connected.
func (t *traffic) SetConnected(channel string, up bool) {
	v := 0.0
	if up {
		v = 1
	}
	t.up.WithLabelValues(t.channels.label(channel)).Set(v)
}

// Reconnected counts a connection that came back.
func (t *traffic) Reconnected(channel string) {
	t.reconnects.WithLabelValues(t.channels.label(channel)).Inc()
}

// Event notes when a channel last brought something.
func (t *traffic) Event(channel string, at time.Time) {
	t.lastEvent.WithLabelValues(t.channels.label(channel)).Set(float64(at.UnixMilli()) / 1000)
}

// SendRetried counts a send attempt after the first.
func (t *traffic) SendRetried(channel, reason string) {
	t.sendRetries.WithLabelValues(t.channels.label(channel), reason).Inc()
}

// CountAttachment counts a file that came with a message by what became of it.
func (t *traffic) CountAttachment(channel, outcome string) {
	t.attached.WithLabelValues(t.channels.label(channel), outcome).Inc()
}

// CountSent counts a message by its final outcome.
func (t *traffic) CountSent(channel, outcome string, took time.Duration) {
	t.sent.WithLabelValues(t.channels.label(channel), outcome).Inc()
	if took > 0 {
		t.sendTook.WithLabelValues(t.channels.label(channel)).Observe(took.Seconds())
	}
}
