package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"parley/channels"
	"parley/channels/internal/markup"
	"parley/channels/internal/transfer"
	"parley/sessionkeys"
)

// Fetch writes a file that came with a message. It is asked for by its id, so a
// file of another workspace (Slack Connect), of which an event says nothing but
// that, is as good as any. The file is never whole in memory. It is given up when
// nothing of it comes for Options.SendTimeout.
func (c *Channel) Fetch(ctx context.Context, in sessionkeys.Address, a channels.Attachment, w io.Writer) error {
	if a.Kind == channels.Around {
		return c.fetchAround(ctx, in, a.Ref, w)
	}
	const op = "download a file"
	if a.Ref == "" {
		return refusedError(op, "the attachment names no file")
	}
	var info struct {
		File fileRef `json:"file"`
	}
	if err := c.fetchFileInfo(ctx, a.Ref, &info); err != nil {
		return err
	}
	f := info.File
	from := cmp.Or(f.URL, f.Private)
	u, err := url.Parse(from)
	switch {
	case f.External:
		return refusedError(op, "the file is kept outside of slack")
	case from == "":
		return refusedError(op, "slack names no address of the file")
	case err != nil || !c.isSlackURL(u):
		return refusedError(op, "the address of the file is not slack's")
	}
	ctx, patience := transfer.NewIdleTimer(ctx, c.o.SendTimeout, errStalled)
	defer patience.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, http.NoBody)
	if err != nil {
		return &channels.Error{Kind: channels.Unsent, Op: op, Err: err}
	}
	resp, err := c.http.Client.Do(req)
	if err != nil {
		return &channels.Error{Kind: channels.Unsent, Op: op, Err: withCause(ctx, err)}
	}
	defer func() { _ = resp.Body.Close() }()
	if err := downloadError(resp, f); err != nil {
		return err
	}
	if _, reading, writing := transfer.Copy(w, resp.Body, patience); reading != nil || writing != nil {
		return &channels.Error{Kind: channels.Unsent, Op: op, Status: resp.StatusCode, Err: withCause(ctx, c.http.CleanError(errors.Join(reading, writing)))}
	}
	return nil
}

// errStalled is why a file that stood still was given up.
var errStalled = errors.New("nothing moved in time")

// fetchFileInfo asks what is known of a file.
func (c *webAPI) fetchFileInfo(ctx context.Context, id string, into any) error {
	const method = "files.info"
	result, err := c.call(ctx, method, "", func(ctx context.Context) error {
		_, _, _, err := c.api.GetFileInfoContext(ctx, id, 0, 0)
		return err
	})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(result, into); err != nil {
		return &channels.Error{Kind: channels.Refused, Op: method, Message: "the answer cannot be read", Err: err}
	}
	return nil
}

// isSlackURL reports whether an address is one of Slack's, or of the API that is
// configured. It may be whatever somebody who shared a file chose, and no token and
// no file goes anywhere else.
func (c *webAPI) isSlackURL(u *url.URL) bool {
	host := strings.ToLower(u.Hostname())
	if u.Scheme == "https" && (host == "slack.com" || strings.HasSuffix(host, ".slack.com") || strings.HasSuffix(host, ".slack-gov.com")) {
		return true
	}
	api, err := url.Parse(c.o.APIURL)
	return err == nil && u.Scheme == api.Scheme && strings.EqualFold(u.Host, api.Host)
}

// downloadError reports what is wrong with an answer to a download. Slack answers who may
// not read a file with its page for signing in, or the way there.
func downloadError(resp *http.Response, f fileRef) error {
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
