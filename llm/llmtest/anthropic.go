package llmtest

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// anthropicSchemas are the schemas of requests, answers and errors in
// Anthropic's own description of its API, without the keywords that describe
// and check nothing. A test with the build tag judges holds them to the
// description that the pinned SDK brings along, and writes them anew with
// -update.
//
//go:embed anthropic.json
var anthropicSchemas []byte

const messageParams = "#/components/schemas/CreateMessageParams"

// messageSchema is compiled once for all tests of a binary.
var messageSchema = sync.OnceValues(compileMessageSchema)

// ValidateAnthropic fails t when body is not a request that Anthropic's own
// API description allows. It knows the schema only: it does not see a tool
// result without its call.
func ValidateAnthropic(t testing.TB, body []byte) {
	t.Helper()
	if err := CheckAnthropic(body); err != nil {
		t.Errorf("request against Anthropic's schema: %v\n%s", err, body)
	}
}

// ValidateAnthropicRequest is ValidateAnthropic for a request with these headers, which may
// let more be in it.
func ValidateAnthropicRequest(t testing.TB, h http.Header, body []byte) {
	t.Helper()
	ValidateAnthropic(t, withoutBeta(h, body))
}

// CheckAnthropic reports what is wrong with a request body.
func CheckAnthropic(body []byte) error {
	schema, err := messageSchema()
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("request body: %w", err)
	}
	return schema.Validate(value)
}

// AnthropicValidator is a transport that checks every request for messages on
// its way, and fails T for a bad one. Requests go on unchanged.
type AnthropicValidator struct {
	T    testing.TB
	Next http.RoundTripper // nil: http.DefaultTransport
}

// RoundTrip checks and sends req.
func (v *AnthropicValidator) RoundTrip(req *http.Request) (*http.Response, error) {
	if strings.HasSuffix(req.URL.Path, "/messages") && req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, fmt.Errorf("read request body: %w", errors.Join(err, req.Body.Close()))
		}
		if err := req.Body.Close(); err != nil {
			return nil, fmt.Errorf("close request body: %w", err)
		}
		ValidateAnthropicRequest(v.T, req.Header, body)
		req = req.Clone(req.Context())
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	next := v.Next
	if next == nil {
		next = http.DefaultTransport
	}
	return next.RoundTrip(req)
}

// withoutBeta is a body without the one field that a header lets be there, and that the
// schema of requests without it does not know.
func withoutBeta(h http.Header, body []byte) []byte {
	var fields map[string]json.RawMessage
	var thinking map[string]json.RawMessage
	if h.Get("Anthropic-Beta") != "thinking-binding-controls-2026-08-01" || json.Unmarshal(body, &fields) != nil || json.Unmarshal(fields["thinking"], &thinking) != nil {
		return body
	}
	delete(thinking, "block_binding")
	fields["thinking"], _ = json.Marshal(thinking) // raw JSON that was read a moment ago
	rest, err := json.Marshal(fields)
	if err != nil {
		return body
	}
	return rest
}

func compileMessageSchema() (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(anthropicSchemas))
	if err != nil {
		return nil, fmt.Errorf("read Anthropic's schemas: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020) // what OpenAPI 3.1 uses
	c.UseRegexpEngine(ecmaRegexp)
	const name = "https://example.invalid/anthropic.json"
	if err := c.AddResource(name, doc); err != nil {
		return nil, fmt.Errorf("add Anthropic's schemas: %w", err)
	}
	schema, err := c.Compile(name + messageParams)
	if err != nil {
		return nil, fmt.Errorf("compile Anthropic's schemas: %w", err)
	}
	return schema, nil
}

// ecmaUnicode is a character by its number in ECMA's way, which Go's regular
// expressions do not know.
var ecmaUnicode = regexp.MustCompile(`\\u([0-9a-fA-F]{4})`)

func ecmaRegexp(s string) (jsonschema.Regexp, error) {
	return regexp.Compile(ecmaUnicode.ReplaceAllString(s, `\x{$1}`))
}
