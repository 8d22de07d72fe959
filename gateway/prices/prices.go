// Package prices knows what models cost a gateway: the list that came with this
// version, the operator's file laid over it, and the ceiling for models that
// stand in neither. The file may be changed while the gateway runs.
package prices

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"parley/agent"
	"parley/costs"
	"parley/problems"
)

// Config is what an operator says of prices.
type Config struct {
	// File is a price list of the form that costs.Load reads, laid over the
	// built-in one: its rows replace, or come besides. It is read again when its
	// content changes.
	File string `yaml:"file"`
	// Ceiling is for models without a price. Without it they are refused while
	// any budget applies.
	Ceiling Ceiling `yaml:"ceiling"`
}

// Ceiling is the most that the operator reckons a model without a price to
// cost, in dollars per million tokens. Both or neither are given.
type Ceiling struct {
	Input  string `yaml:"input"`
	Output string `yaml:"output"`
}

var errHalf = errors.New("input and output are given together, in dollars per million tokens")

// Price returns the price that c stands for; nil: none is given.
func (c Ceiling) Price() (*costs.Price, error) {
	switch {
	case c == Ceiling{}:
		return nil, nil // none is no mistake
	case c.Input == "" || c.Output == "":
		return nil, errHalf
	}
	var ps problems.List
	in, err := costs.ParseRate(c.Input)
	ps.Check("input", err)
	out, err := costs.ParseRate(c.Output)
	ps.Check("output", err)
	if err := ps.Err(); err != nil {
		return nil, err
	}
	return costs.Ceiling(in, out), nil
}

// Observer counts.
type Observer interface {
	// CountReload: the file was read again.
	CountReload(ok bool, at time.Time)
	// SetPricesDate: the date of the newest row.
	SetPricesDate(newest time.Time)
}

// Options is what a Table is made of.
type Options struct {
	Config Config
	// Families says which part of the list holds for a provider, by the
	// operator's names.
	Families map[string]string
	// Fixed are prices that the operator gave elsewhere than in the file, by the
	// operator's names of provider and model; they go before all others.
	Fixed []*costs.Price
	// Parse reads the file's content; nil: as JSON, by costs.Load.
	Parse    func(name string, data []byte) (*costs.Catalogue, error)
	Observer Observer // nil: nobody
	Log      *slog.Logger
	Now      func() time.Time
}

// Table is what models cost now. Its methods may be called concurrently.
type Table struct {
	o    Options // but for Config, Families and Fixed, which are in sources
	base *costs.Catalogue
	now  atomic.Pointer[View]

	mu      sync.Mutex // guards what follows
	sources Draft
	changed []byte // what the last look found instead of the content; nil: nothing else
	unread  string // why it could not be read since then; empty: it could
}

// Draft is prices that were read and do not hold yet.
type Draft struct {
	file    string
	content []byte // of the file as it was read last
	view    *View
}

var (
	_ agent.Prices                         = (*Table)(nil)
	_ interface{ Snapshot() agent.Prices } = (*Table)(nil)
)

// Open reads the list and the file. An error is a mistake in the configuration
// or in the file.
func Open(o Options) (*Table, error) {
	if o.Parse == nil {
		o.Parse = func(name string, data []byte) (*costs.Catalogue, error) {
			return costs.Load(bytes.NewReader(data), name)
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	base, err := costs.Embedded()
	if err != nil {
		return nil, fmt.Errorf("read the price catalogue: %w", err)
	}
	t := &Table{o: o, base: base}
	d, err := t.Prepare(o.Config, o.Families, o.Fixed)
	if err != nil {
		return nil, err
	}
	t.adopt(d)
	return t, nil
}

// Prepare reads the prices of another configuration; arguments are as in [Options]. An error
// is a mistake in the configuration or in the file.
func (t *Table) Prepare(c Config, families map[string]string, fixed []*costs.Price) (Draft, error) {
	ceiling, err := c.Ceiling.Price()
	if err != nil {
		return Draft{}, fmt.Errorf("ceiling: %w", err)
	}
	d := Draft{file: c.File, view: &View{families: families, fixed: fixed, catalogue: t.base, ceiling: ceiling}}
	if d.file == "" {
		return d, nil
	}
	if d.content, err = readFile(d.file); err != nil {
		return Draft{}, err
	}
	over, err := t.o.Parse(d.file, d.content)
	if err != nil {
		return Draft{}, err
	}
	d.view.catalogue = t.base.With(over)
	return d, nil
}

// Adopt puts the prices that were prepared into force, and has Watch look at their file.
func (t *Table) Adopt(d Draft) {
	t.adopt(d)
	if t.o.Observer != nil {
		t.o.Observer.SetPricesDate(d.view.Newest())
	}
}

func (t *Table) adopt(d Draft) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sources, t.changed, t.unread = d, nil, ""
	t.now.Store(d.view)
}

// maxFile is far more than any list of prices.
const maxFile = 4 << 20

var (
	errTooLarge = errors.New("file too large for a list of prices")
	errNoFile   = errors.New("not a regular file, which can be read repeatedly")
)

func readFile(file string) ([]byte, error) {
	st, err := os.Stat(file)
	if err == nil && !st.Mode().IsRegular() { // opening a pipe waits for its writer
		err = fmt.Errorf("%s: %w", file, errNoFile)
	}
	if err != nil {
		return nil, fmt.Errorf("read the prices: %w", err)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read the prices: %w", err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s: %w", file, errTooLarge)
	}
	if err != nil {
		return nil, fmt.Errorf("read the prices: %w", err)
	}
	return data, nil
}

// View returns the prices as they are now; it never changes.
func (t *Table) View() *View { return t.now.Load() }

// Snapshot is View, for a turn that keeps its prices.
func (t *Table) Snapshot() agent.Prices { return t.View() }

// Price finds the price of a model's tokens, the ceiling where it has none;
// false: there is none either.
func (t *Table) Price(provider, model string) (*costs.Price, bool) {
	return t.View().Price(provider, model)
}

// Cost returns what u cost, and the price by which.
func (t *Table) Cost(provider, model string, u costs.Usage) (costs.Amount, *costs.Price, error) {
	return t.View().Cost(provider, model, u)
}
