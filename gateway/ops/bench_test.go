package ops_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"parley/gateway/ops"
)

// A scrape as a scraper sees it, without the store behind it, whose part
// sessions/sqlite measures.
func BenchmarkScrape(b *testing.B) {
	for name, s := range map[string]ops.LabelSets{
		"usual": sized(3, 3, 8, 3), "caps": sized(ops.MaxChannels, ops.MaxModels, ops.MaxTools, ops.MaxDepth),
	} {
		b.Run(name, func(b *testing.B) {
			m := ops.NewMetrics(s)
			register(b, m, &ledger{}, fixture{}, s)
			h := m.Handler()
			size := 0
			for b.Loop() {
				rec := httptest.NewRecorder()
				h.ServeHTTP(rec, httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/metrics", nil))
				size = rec.Body.Len()
			}
			b.ReportMetric(float64(size), "bytes")
		})
	}
}
