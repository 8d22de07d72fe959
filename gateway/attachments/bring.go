package attachments

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/gateway/outcomes"
	"parley/tools/files"
)

// askEvery is how often a worker asks again.
const askEvery = 2 * time.Second

// Importer brings files into workspaces.
type Importer struct {
	Config Config // after Defaults
	Log    Log
	Files  files.Config                  // what of a workspace may be reached
	Space  Space                         // in one workspace
	Around func([]channels.Quote) string // what a model reads of what others said before
	Count  func(channel, outcome string) // is told what became of each file; nil: nobody is
	Texts  TextReader                    // makes text of them; nil: nobody does
	// Command returns what people type on a network for a command; nil: a slash and its
	// name.
	Command     func(network, name string) string
	Transcribes bool // what is to be heard is made words of, in its turn
	Logger      *slog.Logger
	Now         func() time.Time
	Quota       *Quota // what people have sent today; nil: it counts alone

	alone Quota // where Quota is nil
}

// quota returns what counts what people send in a day.
func (b *Importer) quota() *Quota {
	if b.Quota != nil {
		return b.Quota
	}
	return &b.alone
}

// Request is what is said as one.
type Request struct {
	// ID is that of the message to the model that all of it becomes.
	ID        string
	Person    string // who sent them, for what one may send in a day
	Workspace string
	// Files are those of each part of the message.
	Files [][]File
}

var errLate = errors.New("attachments not fetched in time")

// Import brings the files of r into its workspace, as far as they are to be had within
// the configured time, and returns what became of each. An error is ctx's cause: then nothing is known, and bringing them again
// makes no second copy of any.
func (b *Importer) Import(ctx context.Context, r Request) ([][]Result, error) {
	said := UnreadableResults(r.Files)
	limited, cancel := context.WithTimeoutCause(ctx, b.Config.Timeout, errLate)
	defer cancel()
	var work sync.WaitGroup
	n, wanted := 0, int64(0)
	for i, fs := range r.Files {
		for k, f := range fs {
			if f.Kind == channels.Around {
				work.Go(func() { said[i][k] = Result{Line: b.aroundText(limited, f)} })
				continue
			}
			if f.Ref == "" { // a place, a contact: what it is the message says in words
				continue
			}
			if b.Config.Off {
				said[i][k].Unusable = cannotRead
				continue
			}
			if n++; n > b.Config.MaxPerTurn {
				said[i][k] = b.resultOf(f, b.count(f, outcome{problem: outcomes.FileTooMany}))
				continue
			}
			// One after the other: what the first takes the next must find taken.
			if p := b.checkAdmission(r, f, wanted); p != "" {
				said[i][k] = b.resultOf(f, b.count(f, outcome{problem: p}))
				continue
			}
			wanted += f.Size
			work.Go(func() {
				o := b.importOne(limited, f, func(ctx context.Context) (outcome, error) { return b.copyFromLog(ctx, r.Workspace, f) })
				b.quota().addBytes(r.Person, o.size-f.Size)
				said[i][k] = b.resultOf(f, b.count(f, o))
			})
		}
	}
	work.Wait()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("bring files: %w", context.Cause(ctx))
	}
	if err := b.addTexts(ctx, r, said); err != nil {
		return nil, fmt.Errorf("read files: %w", err)
	}
	return said, nil
}

// checkAdmission returns why f, besides so many bytes that are on their way already, is
// not even to be fetched; "" when it is.
func (b *Importer) checkAdmission(r Request, f File, wanted int64) outcomes.File {
	if f.Size > b.Config.MaxBytes {
		return outcomes.FileTooLarge
	}
	if p := b.checkRoom(r.Workspace, wanted+f.Size); p != "" {
		b.Logger.Warn("attachment not fetched: no space left in the workspace", "channel", f.Channel, "message", f.Message, "workspace", r.Workspace, "size", f.Size, "problem", p)
		return p
	}
	if !b.quota().reserve(b.Config, r.Person, f.Size, b.Now()) {
		b.Logger.Warn("attachment not fetched: daily quota of its sender is used up", "channel", f.Channel, "message", f.Message, "sender", r.Person)
		return outcomes.FileOverQuota
	}
	return ""
}

// count returns what became of f.
func (b *Importer) count(f File, o outcome) outcome {
	if b.Count != nil {
		b.Count(f.Channel, string(cmp.Or(o.problem, outcomes.FileSaved)))
	}
	return o
}

// outcome is what became of a file.
type outcome struct {
	path    string // in the workspace
	size    int64
	mime    string // by the content
	sum     string // of the content
	problem outcomes.File
}

// importOne brings f, by take when it is in the log, until ctx ends.
func (b *Importer) importOne(ctx context.Context, f File, take func(context.Context) (outcome, error)) outcome {
	log := b.Logger.With("channel", f.Channel, "message", f.Message, "kind", f.Kind)
	answers := make(chan fetchAnswer, 1)
	l, err := b.Log.Listen(ctx, answerTopic(f.object()))
	if err != nil {
		log.Warn("attachment request failed", "error", err)
		return outcome{problem: outcomes.FileLate}
	}
	listening, stop := context.WithCancel(ctx)
	var ear sync.WaitGroup
	ear.Go(func() { _ = l.Run(listening, func(s broker.Signal) { keepNewest(s, answers) }) }) // it ends when told to
	defer ear.Wait()
	defer stop()
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		o, err := take(ctx)
		switch {
		case err == nil:
			return o
		case ctx.Err() != nil:
			return outcome{problem: outcomes.FileLate}
		case !errors.Is(err, broker.ErrNoFile):
			log.Warn("attachment copy failed, retrying", "error", err)
		}
		if err := sendSignal(ctx, b.Log, askTopic(f.Channel), fetchRequest{f.object(), f}); err != nil {
			log.Debug("signal not sent", "error", err)
		}
		select {
		case a := <-answers:
			if a.Problem != "" {
				return outcome{problem: a.Problem}
			}
		case <-tick.C:
		case <-ctx.Done():
			log.Warn("attachment not fetched in time", "error", context.Cause(ctx))
			return outcome{problem: outcomes.FileLate}
		}
	}
}

// keepNewest keeps the newest answer.
func keepNewest(s broker.Signal, answers chan fetchAnswer) {
	var a fetchAnswer
	if json.Unmarshal(s.Body, &a) != nil {
		return
	}
	select {
	case <-answers:
	default:
	}
	answers <- a // there is room: nobody else puts any in
}

// copyFromLog copies f from the log into the workspace, or returns ErrNoFile or what else
// may be different the next time.
func (b *Importer) copyFromLog(ctx context.Context, workspace string, f File) (outcome, error) {
	from, size, err := b.Log.OpenFile(ctx, f.object())
	if err != nil {
		return outcome{}, err
	}
	defer func() { _ = from.Close() }()
	source := &hashingReader{r: from, sum: sha256.New()}
	path, err := files.Save(ctx, b.Files, workspace, folder+"/"+f.localName(), source)
	if err != nil && (source.err != nil || ctx.Err() != nil) {
		return outcome{}, err
	}
	if err := b.Log.DeleteFile(ctx, f.object()); err != nil {
		b.Logger.Warn("copied attachment not deleted from the message log, kept until it expires", "error", err)
	}
	if err != nil {
		b.Logger.Error("attachment not saved to its workspace", "workspace", workspace, "message", f.Message, "error", err)
		return outcome{problem: outcomes.FileUnkept}, nil
	}
	return outcome{path: path, size: size, mime: http.DetectContentType(source.head), sum: hex.EncodeToString(source.sum.Sum(nil))}, nil
}

// hashingReader remembers what it read, and how reading failed.
type hashingReader struct {
	r    io.Reader
	head []byte // its first bytes
	sum  hash.Hash
	err  error // but for the end
}

// sniffed is how many bytes tell what a file is: those that net/http looks at.
const sniffed = 512

func (r *hashingReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	_, _ = r.sum.Write(p[:n]) // a hash takes everything
	if room := sniffed - len(r.head); room > 0 {
		r.head = append(r.head, p[:min(n, room)]...)
	}
	if err != nil && err != io.EOF { // one that wraps io.EOF is a line that broke off, not the end
		r.err = err
	}
	return n, err
}
