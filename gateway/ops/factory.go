package ops

import "github.com/prometheus/client_golang/prometheus"

// factory makes metrics under the common prefix and registers them.
type factory struct{ registry *prometheus.Registry }

func (f factory) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "parley", Name: name, Help: help}, labels)
	f.registry.MustRegister(c)
	return c
}

func (f factory) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "parley", Name: name, Help: help}, labels)
	f.registry.MustRegister(g)
	return g
}

// histogram is classic and native at once: a scraper takes what it knows.
func (f factory) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: "parley", Name: name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
	}, labels)
	f.registry.MustRegister(h)
	return h
}
