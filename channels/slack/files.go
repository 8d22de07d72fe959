package slack

import (
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"parley/channels"
	"parley/channels/internal/markup"
	"parley/sessionkeys"
)

// Fetch writes a file that came with a message. It is asked for by its id, so a
// file of another workspace (Slack Connect), of which an event says nothing but
// that, is as good as any. The file is never whole in memory.
func (c *Channel) Fetch(ctx context.Context, _ sessionkeys.Address, a channels.Attachment, w io.Writer) error {
	f, err := c.fileInfo(ctx, a.Ref)
	if err != nil {
		return err
	}
	const op = "download a file"
	from := or(f.URL, f.Private)
	u, err := url.Parse(from)
	switch {
	case f.External:
		return refused(op, "the file is kept outside of slack")
	case from == "":
		return refused(op, "slack names no address of the file")
	case err != nil || !c.mayHaveToken(u):
		return refused(op, "the address of the file is not slack's")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, http.NoBody)
	if err != nil {
		return &channels.Error{Kind: channels.Unsent, Op: op, Err: err}
	}
	resp, err := c.http.client.Do(req)
	if err != nil {
		return &channels.Error{Kind: channels.Unsent, Op: op, Err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	if err := unfit(resp, f); err != nil {
		return err
	}
	if _, err := io.Copy(w, resp.Body); err != nil {
		return &channels.Error{Kind: channels.Unsent, Op: op, Status: resp.StatusCode, Err: c.http.transport.cleanError(err)}
	}
	return nil
}

func (c *Channel) fileInfo(ctx context.Context, id string) (fileRef, error) {
	const method = "files.info"
	if id == "" {
		return fileRef{}, refused(method, "the attachment names no file")
	}
	result, err := c.call(ctx, method, "", func(ctx context.Context) error {
		_, _, _, err := c.api.GetFileInfoContext(ctx, id, 0, 0)
		return err
	})
	if err != nil {
		return fileRef{}, err
	}
	var info struct {
		File fileRef `json:"file"`
	}
	if err := json.Unmarshal(result, &info); err != nil {
		return fileRef{}, &channels.Error{Kind: channels.Refused, Op: method, Message: "the answer cannot be read", Err: err}
	}
	return info.File, nil
}

// mayHaveToken says whether the token may go to an address, which is whatever
// somebody who shared a file chose.
func (c *Channel) mayHaveToken(u *url.URL) bool {
	host := strings.ToLower(u.Hostname())
	if u.Scheme == "https" && (host == "slack.com" || strings.HasSuffix(host, ".slack.com") || strings.HasSuffix(host, ".slack-gov.com")) {
		return true
	}
	api, err := url.Parse(c.o.APIURL)
	return err == nil && u.Scheme == api.Scheme && strings.EqualFold(u.Host, api.Host)
}

// unfit says what is wrong with an answer to a download. Slack answers who may not
// read a file with its page for signing in, or the way there.
func unfit(resp *http.Response, f fileRef) error {
	e := &channels.Error{Kind: channels.Unsent, Op: "download a file", Status: resp.StatusCode}
	t, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	signIn := err == nil && t == "text/html" && f.MIME != "text/html"
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		e.Kind, e.RetryAfter = channels.RateLimit, retryAfter(resp.Header.Get("Retry-After"))
	case resp.StatusCode >= 300 && resp.StatusCode < 400, resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden,
		resp.StatusCode == http.StatusOK && signIn:
		e.Kind, e.Message = channels.Unauthorized, "slack asks to sign in: the app may not read the file; it needs the scope files:read, and to be in the channel"
	case resp.StatusCode >= 400 && resp.StatusCode < 500:
		e.Kind, e.Message = channels.Refused, markup.Brief(resp.Status)
	case resp.StatusCode != http.StatusOK:
		e.Message = markup.Brief(resp.Status)
	default:
		return nil
	}
	return e
}
