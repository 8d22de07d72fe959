package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strconv"
	"time"

	"parley/channels"
	"parley/channels/internal/exchange"
	"parley/channels/internal/markup"
	"parley/channels/internal/transfer"
)

// What a Bot API server takes. Telegram says MB, and not which; so it is the
// smaller one, which leaves room for what stands around the file.
const (
	largestUpload      = 50e6
	largestLocalUpload = 2000e6
)

// LargestFile returns what Telegram's own server takes, or a local one where the account
// has one.
func (c *Channel) LargestFile() int64 {
	if c.o.APIURL == publicAPI {
		return largestUpload
	}
	return largestLocalUpload
}

// largestPhoto is what Telegram takes as a photo, in bytes.
const largestPhoto = 10e6

// SendFile sends a picture as a photo, which Telegram shows and makes smaller, and
// any other file as a document, byte for byte as it is. What Telegram refuses as a
// photo is sent as a document, and when its topic is gone or closed a file is sent
// outside of it. All that needs a content that can be read from its beginning again
// (io.Seeker); another one is a document. See channels.FileSender.
func (c *Channel) SendFile(ctx context.Context, r channels.Reply, f channels.File, content io.Reader) (channels.Receipt, error) {
	method := "sendDocument"
	if _, twice := content.(io.Seeker); twice && isPhoto(f) {
		method = "sendPhoto"
	}
	chat, thread, err := parseAddress(method, r.To)
	switch {
	case err != nil:
		return channels.Receipt{}, err
	case f.Size <= 0:
		return channels.Receipt{}, refusedError(method, "the file is empty, which telegram does not take")
	case f.Size > c.LargestFile():
		return channels.Receipt{}, refusedError(method, fmt.Sprintf("the file is too large: it has %d bytes, and telegram takes %d", f.Size, c.LargestFile()))
	}
	p := documentParams{chat: chat, repeat: r.Repeat}
	if r.To.Thread != generalTopic {
		p.thread = thread
	}
	if r.ReplyTo != "" {
		if p.replyTo, err = strconv.Atoi(r.ReplyTo); err != nil {
			return channels.Receipt{}, refusedError(method, "the id of the message to answer is not a number")
		}
	}
	again := rewinder(content)
	for {
		result, err := c.callPaced(method, callTarget{chat, thread}, final, func() (json.RawMessage, error) { return c.upload(ctx, method, p, f, content) })
		switch {
		case err == nil:
			return receipt(method, result)
		case p.thread != 0 && isTopicGone(err) && again():
			c.o.Log.Warn("topic deleted, message sent outside of it", "error", err)
			p.thread = 0
		case (p.thread != 0 || p.replyTo != 0) && isTopicClosed(err) && again():
			c.o.Log.Warn("topic closed, message sent outside of it", "error", err)
			p.thread, p.replyTo = 0, 0
		case method == "sendPhoto" && isRefused(err) && again():
			c.o.Log.Info("telegram refused a photo, sent as a file", "error", err)
			method = "sendDocument"
		default:
			return channels.Receipt{}, err
		}
	}
}

// isPhoto reports whether Telegram may show f as a photo.
func isPhoto(f channels.File) bool {
	return f.Size <= largestPhoto && (f.MIME == "image/jpeg" || f.MIME == "image/png")
}

func isRefused(err error) bool {
	e, ok := errors.AsType[*channels.Error](err)
	return ok && e.Kind == channels.Refused
}

// rewinder gives what sets content back to where it stands now; false: it cannot.
func rewinder(content io.Reader) func() bool {
	s, ok := content.(io.Seeker)
	if !ok {
		return func() bool { return false }
	}
	at, err := s.Seek(0, io.SeekCurrent)
	return func() bool {
		if err != nil {
			return false
		}
		_, err := s.Seek(at, io.SeekStart)
		return err == nil
	}
}

// upload makes one request that carries the file. The library would do so without a
// length, so that a file which breaks off might pass for a whole one, would read
// content after the call has ended, and its requests are kept in memory.
func (c *Channel) upload(ctx context.Context, method string, p documentParams, f channels.File, content io.Reader) (json.RawMessage, error) {
	fail := func(err error) (json.RawMessage, error) {
		return nil, &channels.Error{Kind: channels.Unsent, Op: method, Err: err}
	}
	head, tail, kind, err := p.multipartForm(method, f)
	if err != nil {
		return fail(err)
	}
	ctx, patience := transfer.NewIdleTimer(ctx, c.o.SendTimeout, exchange.ErrTimeout)
	defer patience.Stop()
	file := transfer.NewContent(content, f.Size)
	answer := c.o.SendTimeout + perMegabyte*time.Duration(f.Size/1e6)
	body := transfer.NewBody(patience, answer, int64(len(head))+f.Size+int64(len(tail)), bytes.NewReader(head), file, bytes.NewReader(tail))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.o.APIURL+"/bot"+placeholder+"/"+method, io.NopCloser(body))
	if err != nil {
		return fail(err)
	}
	req.ContentLength = body.Size()
	req.Header.Set("Content-Type", kind)
	x := &exchange.Exchange{}
	resp, err := c.http.Answer(req, x)
	if x.Err = err; err == nil {
		_ = resp.Body.Close()
	}
	x.Left.Store(body.MayHaveLeft())
	file.Stop() // the request may still be written while its answer is there
	if err := file.Err(); err != nil {
		return fail(fmt.Errorf("read the file: %w", err))
	}
	return resultOf(ctx, method, x)
}

// perMegabyte is how much longer the answer may take for each MB of a file: the Bot
// API server answers after it has brought the file to Telegram's.
const perMegabyte = time.Second

// documentParams are those of sendDocument and sendPhoto, beside the file.
type documentParams struct {
	chat            int64
	thread, replyTo int
	repeat          bool
}

// multipartForm returns what stands before and behind the file in the body of a request,
// and the body's type.
func (p documentParams) multipartForm(method string, f channels.File) (head, tail []byte, kind string, err error) {
	var text bytes.Buffer
	w := multipart.NewWriter(&text)
	fields, field := [][2]string{{"chat_id", strconv.FormatInt(p.chat, 10)}}, "photo"
	if method == "sendDocument" {
		// Otherwise Telegram makes a film of a GIF.
		fields, field = append(fields, [2]string{"disable_content_type_detection", "true"}), "document"
	}
	if p.thread != 0 {
		fields = append(fields, [2]string{"message_thread_id", strconv.Itoa(p.thread)})
	}
	if p.replyTo != 0 {
		fields = append(fields, [2]string{"reply_parameters", fmt.Sprintf(`{"message_id":%d,"allow_sending_without_reply":true}`, p.replyTo)})
	}
	if p.repeat {
		fields = append(fields, [2]string{"caption", repeatCaption})
	}
	for _, f := range fields {
		err = errors.Join(err, w.WriteField(f[0], f[1]))
	}
	_, e := w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {multipart.FileContentDisposition(field, markup.FileName(f.Name))},
		"Content-Type":        {transfer.MediaType(f.MIME)},
	})
	head = bytes.Clone(text.Bytes())
	text.Reset()
	err = errors.Join(err, e, w.Close())
	return head, text.Bytes(), w.FormDataContentType(), err
}
