package web

import (
	"context"
	"errors"
	"testing"
)

// A model may ask for 32 pages in one answer, and as many turns run at a time.
func TestPagesWaitToBeConverted(t *testing.T) {
	t.Parallel()
	f, err := newFetcher(FetchOptions{FetchConfig: FetchConfig{Enabled: true, AllowHosts: []string{"*"}}})
	if err != nil {
		t.Fatal(err)
	}
	for range maxConverted {
		f.slots <- struct{}{}
	}
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	p := &page{url: at(t, "https://example.org/"), mediaType: "text/html"}
	if err := f.convert(ctx, p, []byte("words"), "text/html"); !errors.Is(err, stop) || p.text != "" {
		t.Errorf("a page more is converted: %q, %v", p.text, err)
	}
	<-f.slots
	if err := f.convert(t.Context(), p, []byte("words"), "text/html"); err != nil || p.text != "words" {
		t.Errorf("then: %q, %v", p.text, err)
	}
	if len(f.slots) != maxConverted-1 {
		t.Errorf("%d slots are taken", len(f.slots))
	}
}
