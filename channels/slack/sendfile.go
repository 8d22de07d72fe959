package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/slack-go/slack"

	"parley/channels"
	"parley/channels/internal/markup"
	"parley/channels/internal/receive"
	"parley/channels/internal/transfer"
)

// shareMethod is the last step, the one that people see.
const shareMethod = "files.completeUploadExternal"

// largestFile is what Slack takes; a workspace may have been set to less.
const largestFile = 1 << 30

// LargestFile returns what Slack takes.
func (c *Channel) LargestFile() int64 { return largestFile }

// SendFile sends a file in three steps: Slack names an address, the bytes go there,
// and the file is shared in its conversation. Before the last step nobody sees
// anything of it. What Slack shares it shares in its own time; so that what is sent
// next stands behind the file, SendFile waits for that, for Options.ShareWithin at
// most. The receipt has the ts of the message, or the file's id when that did not
// appear meanwhile, or the app may not look.
func (c *Channel) SendFile(ctx context.Context, r channels.Reply, f channels.File, content io.Reader) (channels.Receipt, error) {
	const op = "send a file"
	if err := checkAddress(op, r.To); err != nil {
		return channels.Receipt{}, err
	}
	switch {
	case f.Size < 1:
		return channels.Receipt{}, refusedError(op, "slack takes no empty file")
	case f.Size > largestFile:
		return channels.Receipt{}, refusedError(op, fmt.Sprintf("slack takes at most %d bytes", largestFile))
	}
	if err := c.checkWait(shareMethod, r.To.Peer); err != nil {
		return channels.Receipt{}, err // before all the bytes have gone there for nothing
	}
	name := markup.FileName(f.Name)
	at, id, err := c.uploadAddress(ctx, name, f.Size)
	if err != nil {
		return channels.Receipt{}, asUnsent(err)
	}
	if err := c.upload(ctx, at, f.Size, content); err != nil {
		return channels.Receipt{}, err
	}
	ts, err := c.share(ctx, r, id, name)
	if err != nil {
		return channels.Receipt{}, err
	}
	if ts == "" {
		ts = c.awaitShown(ctx, r.To.Peer, id)
	}
	c.tryStopTyping(ctx, r.To)
	return channels.Receipt{MessageID: cmp.Or(ts, id)}, nil
}

// uploadAddress asks where to put a file, and under which id.
func (c *webAPI) uploadAddress(ctx context.Context, name string, size int64) (*url.URL, string, error) {
	const method = "files.getUploadURLExternal"
	result, err := c.call(ctx, method, "", func(ctx context.Context) error {
		_, err := c.api.GetUploadURLExternalContext(ctx, slack.GetUploadURLExternalParameters{FileName: name, FileSize: int(size)})
		return err
	})
	if err != nil {
		return nil, "", withScopeHint(err)
	}
	var up struct {
		URL string `json:"upload_url"`
		ID  string `json:"file_id"`
	}
	err = json.Unmarshal(result, &up)
	at, bad := url.Parse(up.URL)
	switch {
	case err != nil || bad != nil || up.ID == "" || up.URL == "":
		return nil, "", &channels.Error{Kind: channels.Unsent, Op: method, Message: "the answer names no address for the file", Err: err}
	case !c.isSlackURL(at):
		return nil, "", refusedError(method, "the address for the file is not slack's: "+markup.Brief(at.Host))
	}
	return at, up.ID, nil
}

// upload puts the bytes of a file where Slack wants them. The address is all that it
// takes: no token goes there. It is given up when nothing moves for
// Options.SendTimeout.
func (c *webAPI) upload(ctx context.Context, to *url.URL, size int64, content io.Reader) error {
	ctx, patience := transfer.NewIdleTimer(ctx, c.o.SendTimeout, errStalled)
	defer patience.Stop()
	file := transfer.NewContent(content, size)
	body := transfer.NewBody(patience, c.o.SendTimeout, size, file)
	e := &channels.Error{Kind: channels.Unsent, Op: "upload a file"}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), io.NopCloser(body))
	if err != nil {
		e.Err = withCause(ctx, err)
		return e
	}
	req.ContentLength = size
	req.Header.Set("Content-Type", "application/octet-stream")
	resp, err := c.http.bare.Do(req)
	file.Stop() // net/http may go on reading behind our back
	failed := file.Err()
	if err == nil {
		defer func() { _ = resp.Body.Close() }()
		e.Status = resp.StatusCode
	}
	switch {
	case failed != nil:
		e.Err = fmt.Errorf("read the content: %w", failed)
	case err != nil:
		e.Err = withCause(ctx, err)
	case resp.StatusCode == http.StatusTooManyRequests:
		e.Kind, e.RetryAfter = channels.RateLimit, retryAfter(resp.Header.Get("Retry-After"))
	case resp.StatusCode >= 400 && resp.StatusCode < 500 && resp.StatusCode != http.StatusRequestTimeout:
		e.Kind, e.Message = channels.Refused, markup.Brief(resp.Status)
	case resp.StatusCode != http.StatusOK:
		e.Message = markup.Brief(resp.Status)
	case !body.MayHaveLeft():
		e.Message = "slack did not take the whole file"
	default:
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 4<<10)) // the connection is kept for the next
		return nil
	}
	return e
}

// share shows an uploaded file in its conversation; outside of its thread, when that
// is gone. It gives the ts, if Slack says it at once.
func (c *Channel) share(ctx context.Context, r channels.Reply, id, title string) (string, error) {
	p := slack.CompleteUploadExternalParameters{
		Files: []slack.FileSummary{{ID: id, Title: title}}, Channel: r.To.Peer, ThreadTimestamp: r.To.Thread,
	}
	if r.Repeat {
		p.InitialComment = strings.TrimSpace(repeatMark)
	}
	for {
		result, err := c.call(ctx, shareMethod, r.To.Peer, func(ctx context.Context) error {
			_, err := c.api.CompleteUploadExternalContext(ctx, p)
			return err
		})
		switch {
		case err == nil:
			c.threads.notePosted(r.To)
			c.status.clear(r.To)
			return sharedTS(result, r.To.Peer), nil
		case p.ThreadTimestamp != "" && hasErrorCode(err, threadGone...):
			c.o.Log.Warn("thread deleted, file sent outside of it", "error", err)
			p.ThreadTimestamp = ""
		default:
			c.ambiguous.note(r.ID, id, err)
			return "", withScopeHint(err)
		}
	}
}

// awaitShown waits until a file is seen in its conversation, and gives the ts of its
// message; or "" when it cannot.
func (c *webAPI) awaitShown(ctx context.Context, channel, id string) string {
	ctx, cancel := context.WithTimeout(ctx, c.o.ShareWithin)
	defer cancel()
	pauses := receive.Pauses(c.o.Common)
	for {
		f, err := c.fetchShares(ctx, id)
		ts := f.tsIn(channel)
		switch kind := kindOf(err); {
		case ts != "":
			return ts
		case ctx.Err() != nil:
			c.o.Log.Warn("uploaded file not visible yet", "file", id, "channel_id", channel)
			return ""
		case err != nil && kind != channels.Unsent && kind != channels.Ambiguous:
			c.o.Log.Debug("uploaded file: visibility unknown", "file", id, "error", err)
			return ""
		}
		pauses.Wait(ctx)
	}
}

// fetchShares is what files.info says of where a file is shown.
type sharedFile struct {
	Shares map[string]map[string][]struct {
		TS string `json:"ts"`
	} `json:"shares"` // public or private, and the channel
}

func (c *webAPI) fetchShares(ctx context.Context, id string) (sharedFile, error) {
	var info struct {
		File sharedFile `json:"file"`
	}
	err := c.fetchFileInfo(ctx, id, &info)
	return info.File, err
}

// sharedTS returns the ts that the answer to the last step has, if it has one: Slack
// promises none there.
func sharedTS(result json.RawMessage, channel string) (ts string) {
	var shared struct {
		Files []sharedFile `json:"files"`
	}
	if err := json.Unmarshal(result, &shared); err == nil && len(shared.Files) > 0 {
		ts = shared.Files[0].tsIn(channel)
	}
	return ts
}

// tsIn returns the ts of the message that shows the file in a channel, the first if there
// are more, or "".
func (f sharedFile) tsIn(channel string) (ts string) {
	for _, of := range f.Shares {
		for _, s := range of[channel] {
			if ts == "" || s.TS != "" && s.TS < ts {
				ts = s.TS
			}
		}
	}
	return ts
}

// asUnsent makes sure that an error before the last step is not taken for one that may
// have shown something.
func asUnsent(err error) error {
	var e *channels.Error
	if errors.As(err, &e) && e.Kind == channels.Ambiguous {
		e.Kind = channels.Unsent
	}
	return err
}

// withScopeHint reports what to do about a token that is good, but not for files. It is the
// file that cannot be sent then, not everything.
func withScopeHint(err error) error {
	var e *channels.Error
	if errors.As(err, &e) && hasErrorCode(err, "missing_scope", "no_permission", "access_denied", "not_allowed_token_type") {
		e.Kind, e.Message = channels.Refused, e.Message+"; to send files the app needs the scope files:write, and to be installed again with it"
	}
	return err
}

// withCause is why a request failed, without its address, which is as good as a token.
func withCause(ctx context.Context, err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if why := context.Cause(ctx); why != nil && !errors.Is(err, why) {
		return fmt.Errorf("%w: %w", why, err)
	}
	return err
}

func kindOf(err error) channels.ErrorKind {
	var e *channels.Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}
