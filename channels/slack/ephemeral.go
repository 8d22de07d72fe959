package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"parley/channels"
	"parley/channels/internal/exchange"
	"parley/channels/internal/markup"
)

// Slack shows a message to one person of a channel by chat.postEphemeral, and promises little:
// who is not active in Slack at that moment never sees it, it is gone after a reload, and it is in
// no history. Its ts is no handle: chat.update and chat.delete do not find it. Only the
// response_url of a press of its own buttons replaces it, for half an hour.
// https://docs.slack.dev/reference/methods/chat.postEphemeral

// personUnreachable are the words with which Slack says that one person does not see a message
// in a channel, to whom alone it is. The channel itself is fine.
var personUnreachable = []string{"user_not_in_channel", "user_not_found", "user_disabled"}

// userOf returns the user whom a private message is for, as calls name them: without the workspace
// that stands in front of strangers' ids.
func userOf(private string) string {
	user, _, _ := strings.Cut(private, ".")
	return user[strings.LastIndexByte(user, '/')+1:]
}

// sendEphemeral sends a message that one person of a channel sees. It is in no history, so
// Find does not find it. It is never sent outside of its thread: a press of its buttons names the
// conversation by the thread.
func (c *Channel) sendEphemeral(ctx context.Context, r channels.Reply, user string) (channels.Receipt, error) {
	const method = "chat.postEphemeral"
	if err := checkAddress(method, r.To); err != nil {
		return channels.Receipt{}, err
	}
	text, markdown := wordsOf(r)
	for {
		options := append(contentOptions(text, markdown, r.Body.Choices), slack.MsgOptionParse(false))
		if r.To.Thread != "" {
			options = append(options, slack.MsgOptionTS(r.To.Thread))
		}
		result, err := c.call(ctx, method, r.To.Peer, func(ctx context.Context) error {
			_, err := c.api.PostEphemeralContext(ctx, r.To.Peer, user, options...)
			return err
		})
		switch {
		case err == nil:
			return ephemeralReceipt(method, result)
		case markdown != "" && hasErrorCode(err, blocksRefused...):
			markdown = ""
		case hasErrorCode(err, personUnreachable...):
			if e, ok := errors.AsType[*channels.Error](err); ok {
				e.Kind = channels.Refused // the channel is not gone with them
			}
			return channels.Receipt{}, err
		default:
			return channels.Receipt{}, err
		}
	}
}

func ephemeralReceipt(method string, result json.RawMessage) (channels.Receipt, error) {
	var sent struct {
		TS string `json:"message_ts"`
	}
	if err := json.Unmarshal(result, &sent); err != nil || sent.TS == "" {
		return channels.Receipt{}, &channels.Error{Kind: channels.Ambiguous, Op: method, Status: http.StatusOK, Message: "the answer has no ts"}
	}
	return channels.Receipt{MessageID: sent.TS}, nil
}

// fillPrivatePress completes a press of a button that one person alone sees. What answers it is
// for them alone too, and it begins no thread. When the press is stored, a line stands in the place
// of the message, so that nobody presses twice by mistake.
func (r *receiver) fillPrivatePress(e *event, p *interaction, channel string) {
	user, ts := p.User.ID, p.Container.MessageTS
	e.message.MessageID = channels.PrivateReplyToPerson(user + "." + ts)
	e.message.Address = r.addressOf(channel, "", p.Container.ThreadTS, "")
	url, label := p.ResponseURL, p.Actions[0].Text.Text
	e.after = func(channels.Message) {
		r.queue.Go(func(ctx context.Context) {
			if err := r.replacePressed(ctx, url, label); err != nil && ctx.Err() == nil {
				r.o.Log.Debug("pressed buttons not taken away", "error", err)
			}
		})
	}
}

// replacePressed puts in the place of a message with buttons which of them was pressed. It is
// courtesy, and not tried again: a button that stays says why it comes too late. Its errors do not
// hold the URL, with which anybody could change that message.
func (r *receiver) replacePressed(ctx context.Context, to, label string) error {
	if !isResponseURL(to, r.o.APIURL) {
		return errors.New("the press names no address of Slack")
	}
	body, err := json.Marshal(map[string]any{"replace_original": true, "text": fmt.Sprintf("(%s)", escaper.Replace(markup.Brief(label)))})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.o.SendTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return errors.New("the press names an address that cannot be called")
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.http.bare.Do(req)
	if err != nil {
		if of, ok := errors.AsType[*url.Error](err); ok {
			err = of.Err
		}
		return exchange.Cause(ctx, err)
	}
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<10))
	err = errors.Join(err, resp.Body.Close())
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("Slack answers %s", resp.Status) //nolint:staticcheck // the name of the network
	}
	return err
}

// escaper makes a text into mrkdwn that says the same.
var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// responseHosts are where Slack, and its edition for governments, have their response URLs.
var responseHosts = []string{"hooks.slack.com", "hooks.slack-gov.com"}

// isResponseURL reports whether a URL that came in a payload is Slack's: on a host of its own, or on
// the one where the Web API is, if that is configured to be on another.
func isResponseURL(raw, apiURL string) bool {
	u, err := url.Parse(raw)
	if err != nil || u.User != nil {
		return false
	}
	api, err := url.Parse(apiURL)
	if err == nil && apiURL != publicAPI+"/" && u.Scheme == api.Scheme && u.Host == api.Host {
		return true
	}
	return u.Scheme == "https" && slices.Contains(responseHosts, u.Host)
}
