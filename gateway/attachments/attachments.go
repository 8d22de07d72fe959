// Package attachments brings the files that came with messages into the
// workspaces of conversations.
//
// A file can be fetched only by the process that runs its channel, and is wanted by
// the one that runs the turn. The worker asks by a signal, and asks again until it
// has an answer, since signals may be lost; who owns the channel fetches the file
// into the log; the worker copies it from there into the workspace.
//
//	Bring ──ask──► Serve ──► channels.Fetcher ──┐
//	  ▲  ▲            │                         ▼
//	  │  └───answer───┘              files in the log (broker)
//	  └──────────────────────────────────────┘
//
// The file's name in the log is a function of what is asked for, so that asking
// twice, also after a crash, is one file.
package attachments

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/gateway/outcomes"
	"parley/problems"
	"parley/sessionkeys"
)

// Config sets which files are brought.
type Config struct {
	// Off: none are. Models are told that there was one.
	Off bool `yaml:"off"`
	// MaxBytes is how large a file may be. Default 20 MiB.
	MaxBytes int64 `yaml:"max_bytes"`
	// MaxPerTurn is how many are brought of what is said as one. Default 8.
	MaxPerTurn int `yaml:"max_per_turn"`
	// Timeout is how long a question waits for its files, all together. Default
	// 60s.
	Timeout time.Duration `yaml:"timeout"`
	// PersonFiles and PersonBytes are how many files one person may have brought in
	// a day (UTC), and how large all of them may be. Each process counts for itself,
	// from its start. Defaults 200 and 256 MiB; -1: any number.
	PersonFiles int   `yaml:"person_per_day_files"`
	PersonBytes int64 `yaml:"person_per_day_bytes"`
	// TextBytes is how much of the text of files, all that are said as one together,
	// stands in a message to the model. Default 64 KiB; -1: none.
	TextBytes int `yaml:"text_bytes"`
	// PDFPages is how many pages of a PDF are read. Default 100; -1: none.
	PDFPages int `yaml:"pdf_pages"`
}

// Defaults fills in what is not said.
func (c Config) Defaults() Config {
	c.MaxBytes = cmp.Or(c.MaxBytes, 20<<20)
	c.MaxPerTurn = cmp.Or(c.MaxPerTurn, 8)
	c.Timeout = cmp.Or(c.Timeout, time.Minute)
	c.PersonFiles = cmp.Or(c.PersonFiles, 200)
	c.PersonBytes = cmp.Or(c.PersonBytes, 256<<20)
	c.TextBytes = cmp.Or(c.TextBytes, 64<<10)
	c.PDFPages = cmp.Or(c.PDFPages, 100)
	return c
}

// Validate says everything that cannot work, joined.
func (c Config) Validate() error {
	var ps problems.List
	if c.MaxBytes < 1 || c.MaxBytes > 1<<30 {
		ps.Add("max_bytes", "%d is not 1 to %d", c.MaxBytes, 1<<30)
	}
	if c.MaxPerTurn < 1 || c.MaxPerTurn > 100 {
		ps.Add("max_per_turn", "%d is not 1 to 100", c.MaxPerTurn)
	}
	if c.Timeout < time.Second || c.Timeout > 10*time.Minute {
		ps.Add("timeout", "%s is not 1s to 10m", c.Timeout)
	}
	if c.PersonFiles < -1 {
		ps.Add("person_per_day_files", "%d is less than -1", c.PersonFiles)
	}
	if c.PersonBytes < -1 {
		ps.Add("person_per_day_bytes", "%d is less than -1", c.PersonBytes)
	}
	if c.TextBytes < -1 || c.TextBytes > maxText {
		ps.Add("text_bytes", "%d is not -1 to %d", c.TextBytes, maxText)
	}
	if c.PDFPages < -1 || c.PDFPages > maxPages {
		ps.Add("pdf_pages", "%d is not -1 to %d", c.PDFPages, maxPages)
	}
	return ps.Err()
}

// The most that can be configured: a message of the model's, in the log and in the
// store, has to hold it.
const (
	maxText  = 256 << 10
	maxPages = 10_000
)

// Log is the part of the broker by which the two sides meet.
type Log interface {
	Signal(ctx context.Context, s broker.Signal) error
	Listen(ctx context.Context, topic string) (*broker.Listener, error)
	PutFile(ctx context.Context, name string, r io.Reader, limit int64) (size int64, err error)
	OpenFile(ctx context.Context, name string) (io.ReadCloser, int64, error)
	DeleteFile(ctx context.Context, name string) error
}

// File is a file that came with a message.
type File struct {
	Channel string              `json:"channel"` // instance name
	In      sessionkeys.Address `json:"in"`      // the place that it came to, as the network knows it
	Message string              `json:"message"` // the network's id of the message
	channels.Attachment
}

// object returns the file's name in the log.
func (f File) object() string {
	b, err := json.Marshal(f)
	if err != nil { // not of texts and numbers
		b = fmt.Append(nil, f)
	}
	sum := sha256.Sum256(b)
	return "in-" + hex.EncodeToString(sum[:16])
}

// fetchRequest wants a file to be in the log, under the name.
type fetchRequest struct {
	Object string `json:"object"`
	File   File   `json:"file"`
}

// fetchAnswer describes what became of an ask: with no Problem the file is in the log.
type fetchAnswer struct {
	Problem outcomes.File `json:"problem,omitempty"`
}

func askTopic(channel string) string { return "attachments.ask." + channel }

func answerTopic(object string) string { return "attachments.answer." + object }

func sendSignal(ctx context.Context, l Log, topic string, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return l.Signal(ctx, broker.Signal{Topic: topic, Body: body})
}
