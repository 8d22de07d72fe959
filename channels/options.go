package channels

import (
	"cmp"
	"log/slog"
	"time"
)

// Common are the options of an adapter for any network. Name is required.
type Common struct {
	Name string // the instance name

	MinPause time.Duration // first pause after a failure, doubled by each further one; default 500 ms
	MaxPause time.Duration // default: the network's

	Observer Observer         // default NopObserver
	Log      *slog.Logger     // default: no log
	Now      func() time.Time // default time.Now
	Jitter   func() float64   // in [0,1); default random
}

// Defaults returns o with every default filled in, and a log that names the channel.
func (o Common) Defaults(maxPause time.Duration) Common {
	o.MinPause = cmp.Or(o.MinPause, 500*time.Millisecond)
	o.MaxPause = max(o.MinPause, cmp.Or(o.MaxPause, maxPause))
	if o.Observer == nil {
		o.Observer = NopObserver{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Log = o.Log.With("channel", o.Name)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
