package signal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"

	"parley/simulators/internal/stage"
)

// wireRequest is a JSON-RPC request or notification.
type wireRequest struct {
	JSONRPC string          `json:"jsonrpc"`
	Method  *string         `json:"method"`
	Params  json.RawMessage `json:"params,omitempty"`
	ID      json.RawMessage `json:"id,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// wireResponse is an answer. One of Result and Error is set.
type wireResponse struct {
	JSONRPC string          `json:"jsonrpc"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
	ID      json.RawMessage `json:"id"`
}

// outcome is what becomes of a line or a body: the bytes to answer, nil for none,
// and what a fault makes of them.
type outcome struct {
	body    []byte
	trouble Trouble
}

func failure(code int, text string, id json.RawMessage) *wireResponse {
	if id == nil {
		id = json.RawMessage("null")
	}
	return &wireResponse{JSONRPC: "2.0", Error: &rpcError{Code: code, Message: text}, ID: id}
}

func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("signal simulator: encode answer: " + err.Error()) // own types and raw JSON only
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// rpcClient is where calls come from. subscribe is nil where a client cannot
// subscribe.
type rpcClient struct {
	transport   string
	subscribe   func(managers []*manager) int
	unsubscribe func(id int) bool
}

// answerTo reads one message and gives the answer.
func (d *Daemon) answerTo(ctx context.Context, from rpcClient, text []byte) outcome {
	d.waitWhileHung()
	text = bytes.TrimSpace(text)
	switch {
	case len(text) == 0:
		return outcome{body: encode(failure(codeParse, "Empty input line", nil))}
	case !json.Valid(text):
		return outcome{body: encode(failure(codeParse, "Unexpected character or end of input: not a JSON value", nil))}
	}
	switch text[0] {
	case '{':
		r, t := d.answerOne(ctx, from, text)
		if r == nil {
			return outcome{trouble: t}
		}
		return outcome{body: encode(r), trouble: t}
	case '[': // a batch, of which parley sends none
		return outcome{body: encode(failure(codeRequest, "invalid request", nil))}
	}
	return outcome{body: encode(failure(codeRequest, "unexpected type: "+nodeType(text[0]), nil))}
}

// nodeType returns what signal-cli's parser calls a value.
func nodeType(first byte) string {
	switch first {
	case '"':
		return "STRING"
	case 't', 'f':
		return "BOOLEAN"
	case 'n':
		return "NULL"
	}
	return "NUMBER"
}

// answerOne answers one request; nil for a notification, or a response that a client
// sent.
func (d *Daemon) answerOne(ctx context.Context, from rpcClient, text []byte) (*wireResponse, Trouble) {
	var q wireRequest
	if err := json.Unmarshal(text, &q); err != nil {
		var loose struct {
			ID json.RawMessage `json:"id"`
		}
		_ = json.Unmarshal(text, &loose)
		return failure(codeRequest, "Cannot deserialize the request: "+err.Error(), loose.ID), ""
	}
	switch {
	case q.Result != nil || q.Error != nil:
		return nil, ""
	case q.JSONRPC != "2.0":
		return failure(codeRequest, "only jsonrpc version 2.0 is supported", q.ID), ""
	case q.Method == nil:
		return failure(codeRequest, "method field must be set", q.ID), ""
	case len(q.Params) > 0 && string(q.Params) != "null" && q.Params[0] != '{' && q.Params[0] != '[':
		return failure(codeRequest, "Cannot deserialize params: neither an object nor an array", q.ID), ""
	}
	d.debug("JsonRpcReader", "Received json rpc request, method: "+*q.Method)
	r := &wireResponse{JSONRPC: "2.0", ID: q.ID}
	var trouble Trouble
	refused, _ := stage.Refused[rpcError](func() { r.Result, r.Error, trouble = d.run(ctx, from, *q.Method, q.Params) })
	if refused != nil {
		r.Error = refused
	}
	if q.ID == nil || string(q.ID) == "null" {
		return nil, trouble
	}
	return r, trouble
}

// run finds the account and runs the method: the daemon's own, or one of the
// world. A trouble may come with an error, too.
func (d *Daemon) run(ctx context.Context, from rpcClient, method string, raw json.RawMessage) (json.RawMessage, *rpcError, Trouble) {
	args := params{}
	if len(raw) > 0 && raw[0] == '{' {
		var err error
		if args, err = readParams(raw); err != nil {
			panic(&rpcError{Code: codeRequest, Message: err.Error()})
		}
	}
	m := d.soleAccount()
	if m == nil {
		if id := args.text("account"); id != "" {
			if m = d.manager(id); m == nil {
				panic(&rpcError{Code: codeParams, Message: textNoAccount})
			}
		}
	}
	switch method {
	case "subscribeReceive", "unsubscribeReceive":
		return d.subscription(from, m, method, args, raw), nil, ""
	case "getAttachment":
		if m == nil {
			panic(&rpcError{Code: codeParams, Message: textNeedsOne})
		}
		return d.getAttachment(args), nil, ""
	}
	q := callRequest{Process: d.hello.Process, Transport: from.transport, Method: method, Params: raw}
	if len(raw) > 0 && raw[0] == '[' {
		q.Params = nil
	}
	if m != nil {
		q.Account = m.self.ID()
	}
	if wd, err := os.Getwd(); err == nil {
		q.Dir = wd
	}
	result, refused, trouble, err := d.link.call(ctx, q)
	if err != nil {
		panic(&rpcError{Code: codeIO, Message: err.Error()})
	}
	switch trouble {
	case KilledBefore, KilledAfter:
		d.crash()
	case Hung:
		d.hang(true)
	}
	if method == "trust" && refused == nil && m != nil && m.isReceiving() {
		m.replay(ctx) // what was kept because its sender was not trusted
	}
	return result, refused, trouble
}

func (d *Daemon) subscription(from rpcClient, m *manager, method string, args params, raw json.RawMessage) json.RawMessage {
	if from.subscribe == nil {
		panic(&rpcError{Code: codeNoMethod, Message: textNoMethod})
	}
	if method == "subscribeReceive" {
		managers := d.managers
		if m != nil {
			managers = []*manager{m}
		}
		return encode(from.subscribe(managers))
	}
	var ids []int
	id := args.number("subscription")
	switch {
	case len(raw) > 0 && raw[0] == '[':
		if err := json.Unmarshal(raw, &ids); err != nil || len(ids) == 0 {
			panic(userError("Unknown subscription id"))
		}
		id = int64(ids[0])
	case !args.has("subscription"):
		panic(userError("Missing subscription parameter with subscription id"))
	}
	if !from.unsubscribe(int(id)) {
		panic(userError("Unknown subscription id"))
	}
	return json.RawMessage("{}")
}

// getAttachment reads a file from the folder.
func (d *Daemon) getAttachment(args params) json.RawMessage {
	id := args.text("id")
	switch {
	case id == "":
		panic(userError("No attachment id given"))
	case d.dir == nil:
		panic(userError("Could not find attachment with ID: " + id))
	}
	data, err := os.ReadFile(d.dir.attachment(id))
	if errors.Is(err, os.ErrNotExist) {
		panic(userError("Could not find attachment with ID: " + id))
	}
	if err != nil {
		panic(internalError("An error occurred reading attachment with ID: " + id))
	}
	return encode(map[string][]byte{"data": data})
}
