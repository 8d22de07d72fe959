package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-telegram/bot"

	"parley/channels"
	"parley/channels/internal/exchange"
	"parley/channels/internal/markup"
	"parley/channels/internal/transfer"
	"parley/sessionkeys"
)

// Fetch writes a file that came with a message. The file is never whole in memory.
// Telegram's own server hands out files of up to 20 MB.
func (c *Channel) Fetch(ctx context.Context, _ sessionkeys.Address, a channels.Attachment, w io.Writer) error {
	path, err := c.filePath(ctx, a.Ref)
	if err != nil {
		return err
	}
	return c.download(ctx, path, w)
}

// filePath asks where a file can be fetched; the answer holds for an hour.
func (c *Channel) filePath(ctx context.Context, id string) (string, error) {
	const method = "getFile"
	if id == "" {
		return "", refusedError(method, "the attachment names no file")
	}
	result, err := c.callLibrary(ctx, method, func(ctx context.Context) error {
		_, err := c.bot.GetFile(ctx, &bot.GetFileParams{FileID: id})
		return err
	})
	var e *channels.Error
	switch {
	case hasErrorText(err, "file is too big"):
		return "", &channels.Error{
			Kind: channels.Refused, Op: method, Status: http.StatusBadRequest,
			Message: "the file is too large: telegram hands out files of up to 20 MB",
		}
	case errors.As(err, &e) && hasErrorText(err, "temporarily unavailable"):
		// "wrong file_id or the file is temporarily unavailable": it hides failures of the server too,
		// https://github.com/tdlib/telegram-bot-api/issues/32
		e.RetryAfter = time.Second
		return "", e
	case errors.As(err, &e) && e.Kind == channels.Ambiguous:
		e.Kind = channels.Unsent // to ask does nothing
		return "", e
	case err != nil:
		return "", err
	}
	var file struct {
		Path string `json:"file_path"`
	}
	switch {
	case json.Unmarshal(result, &file) != nil || file.Path == "":
		return "", refusedError(method, "telegram names no place of the file")
	case strings.HasPrefix(file.Path, "/"):
		return "", refusedError(method, "the Bot API server keeps the file on its own disk: it runs with --local, with which parley cannot fetch files")
	case !fs.ValidPath(file.Path) || strings.Contains("/"+file.Path, "/bot"+placeholder+"/"):
		return "", refusedError(method, "the place of the file is none that a Bot API server has")
	}
	return file.Path, nil
}

func (c *Channel) download(ctx context.Context, path string, w io.Writer) error {
	const op = "download a file"
	at, err := url.Parse(c.o.APIURL)
	if err != nil {
		return &channels.Error{Kind: channels.Unsent, Op: op, Err: errAddress}
	}
	at.Path, at.RawPath = at.Path+"/file/bot"+placeholder+"/"+path, ""
	ctx, patience := transfer.NewIdleTimer(ctx, c.o.SendTimeout, exchange.ErrTimeout)
	defer patience.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), http.NoBody)
	if err != nil {
		return &channels.Error{Kind: channels.Unsent, Op: op, Err: err}
	}
	resp, err := c.http.Client.Do(req)
	if err != nil {
		return &channels.Error{Kind: channels.Unsent, Op: op, Err: exchange.Cause(ctx, err)}
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return c.downloadError(op, resp)
	}
	_, reading, writing := transfer.Copy(w, resp.Body, patience)
	switch {
	case writing != nil:
		return &channels.Error{Kind: channels.Unsent, Op: op, Status: resp.StatusCode, Err: writing}
	case reading != nil:
		return &channels.Error{Kind: channels.Unsent, Op: op, Status: resp.StatusCode, Err: c.http.CleanError(exchange.Cause(ctx, reading))}
	}
	return nil
}

// downloadError judges an answer that is not the file.
func (c *Channel) downloadError(op string, resp *http.Response) error {
	x := &exchange.Exchange{Status: resp.StatusCode, Retry: resp.Header.Get("Retry-After")}
	body, err := io.ReadAll(io.LimitReader(resp.Body, exchange.MaxGarbled))
	if x.Body, x.Whole = c.http.Clean(body), err == nil; !x.Whole {
		x.Err = c.http.CleanError(err)
	}
	e := &channels.Error{Op: op, Status: x.Status, Err: x.Err}
	withoutAnswer(x, e)
	var a answer
	if x.Whole && json.Unmarshal(x.Body, &a) == nil && a.Description != "" {
		e.Message = markup.Brief(a.Description)
		e.RetryAfter = max(e.RetryAfter, seconds(a.Parameters.RetryAfter))
	}
	switch {
	case x.Status == http.StatusUnauthorized:
		e.Kind = channels.Unauthorized
	case e.Kind == channels.Ambiguous:
		e.Kind = channels.Unsent // to ask does nothing
	}
	return e
}
