package redaction

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
)

// Logger returns a logger that writes as log does, without secrets, in whatever a
// record says: its message, and its attributes' values.
func (r *Redactor) Logger(log *slog.Logger) *slog.Logger {
	if r == nil {
		return log
	}
	return slog.New(&handler{r, log.Handler()})
}

// handler takes secrets out of records.
type handler struct {
	r    *Redactor
	next slog.Handler
}

// Enabled implements [slog.Handler].
func (h *handler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

// Handle implements [slog.Handler].
func (h *handler) Handle(ctx context.Context, rec slog.Record) error {
	whole := slog.NewRecord(rec.Time, rec.Level, h.r.Clean(rec.Message), rec.PC)
	rec.Attrs(func(a slog.Attr) bool {
		whole.AddAttrs(h.r.cleanAttr(a))
		return true
	})
	return h.next.Handle(ctx, whole) // the handler's own
}

// WithAttrs implements [slog.Handler].
func (h *handler) WithAttrs(as []slog.Attr) slog.Handler {
	return &handler{h.r, h.next.WithAttrs(h.r.cleanAttrs(as))}
}

// WithGroup implements [slog.Handler].
func (h *handler) WithGroup(name string) slog.Handler { return &handler{h.r, h.next.WithGroup(name)} }

func (r *Redactor) cleanAttrs(as []slog.Attr) []slog.Attr {
	whole := make([]slog.Attr, len(as))
	for i, a := range as {
		whole[i] = r.cleanAttr(a)
	}
	return whole
}

// cleanAttr returns a without secrets. A value of a type that is no text stays as it is,
// unless what would be written of it holds one.
func (r *Redactor) cleanAttr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, r.Clean(v.String()))
	case slog.KindGroup:
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(r.cleanAttrs(v.Group())...)}
	case slog.KindAny:
		return slog.Attr{Key: a.Key, Value: r.cleanAny(v)}
	}
	return slog.Attr{Key: a.Key, Value: v}
}

func (r *Redactor) cleanAny(v slog.Value) slog.Value {
	if err, ok := v.Any().(error); ok {
		return slog.StringValue(r.Clean(err.Error()))
	}
	if b, ok := v.Any().([]byte); ok { // which the handlers write as text, as numbers or as base64
		if whole := r.Clean(string(b)); whole != string(b) {
			return slog.StringValue(whole)
		}
		return v
	}
	text := fmt.Sprintf("%+v", v.Any())
	if whole := r.Clean(text); whole != text {
		return slog.StringValue(whole)
	}
	if b, err := json.Marshal(v.Any()); err == nil && r.Clean(string(b)) != string(b) {
		return slog.StringValue(r.Clean(string(b)))
	}
	return v
}

// CleanError returns err, unless its text holds a secret: then only the text without it is
// left, and what sort of error it is.
func (r *Redactor) CleanError(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if whole := r.Clean(text); whole != text {
		return &cleanError{whole, err}
	}
	return err
}

// cleanError says text in place of what err says.
type cleanError struct {
	text string
	err  error
}

func (e *cleanError) Error() string { return e.text }
func (e *cleanError) Unwrap() error { return e.err }
