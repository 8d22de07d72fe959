package wire

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"parley/llm"
)

// apiError is an error object as the providers write it: Anthropic's
// {"type":"error","error":{"type","message"}}, OpenAI's
// {"error":{"message","type","code"}}, OpenRouter's with a number as code, and
// the plain {"error":"text"} and {"message":"text"} of small servers.
type apiError struct {
	kind      string // error.type
	code      string // error.code, when it is a word
	status    int    // error.code, when it is a number
	message   string
	requestID string
}

func (a apiError) text() string {
	switch {
	case a.message != "":
		return a.message
	case a.code != "":
		return a.code
	default:
		return a.kind
	}
}

func parseAPIError(body []byte) (apiError, bool) {
	var outer struct {
		Error     json.RawMessage `json:"error"`
		Message   string          `json:"message"`
		Detail    string          `json:"detail"`
		RequestID string          `json:"request_id"`
	}
	if json.Unmarshal(body, &outer) != nil {
		var list []json.RawMessage // of one error, as Gemini answers
		if json.Unmarshal(body, &list) == nil && len(list) == 1 && list[0][0] == '{' {
			return parseAPIError(list[0])
		}
		return apiError{}, false
	}
	a := apiError{message: cmp.Or(outer.Message, outer.Detail), requestID: outer.RequestID}
	var inner struct {
		Type    string          `json:"type"`
		Message string          `json:"message"`
		Code    json.RawMessage `json:"code"`
	}
	var words string
	switch {
	case len(outer.Error) == 0:
		return a, a.message != ""
	case json.Unmarshal(outer.Error, &words) == nil:
		a.message = cmp.Or(words, a.message)
	case json.Unmarshal(outer.Error, &inner) == nil:
		a.kind, a.message = inner.Type, cmp.Or(inner.Message, a.message)
		if json.Unmarshal(inner.Code, &a.code) != nil {
			_ = json.Unmarshal(inner.Code, &a.status)
		} else if n, err := strconv.Atoi(a.code); err == nil {
			a.code, a.status = "", n
		}
	}
	return a, a.kind != "" || a.code != "" || a.status != 0 || a.message != ""
}

// names are the words that providers use as type or code of an error.
var names = map[string]llm.Kind{
	"insufficient_quota":         llm.Quota,
	"billing_error":              llm.Quota,
	"billing_hard_limit_reached": llm.Quota,
	"billing_not_active":         llm.Quota,
	"context_length_exceeded":    llm.ContextLength,
	"rate_limit_error":           llm.RateLimited,
	"rate_limit_exceeded":        llm.RateLimited,
	"overloaded_error":           llm.Overloaded,
	"server_overloaded":          llm.Overloaded,
	"authentication_error":       llm.Auth,
	"permission_error":           llm.Auth,
	"invalid_api_key":            llm.Auth,
	"content_filter":             llm.ContentFilter,
	"content_policy_violation":   llm.ContentFilter,
	"timeout_error":              llm.Timeout,
	"api_error":                  llm.Server,
	"server_error":               llm.Server,
	"request_too_large":          llm.InvalidRequest,
	"not_found_error":            llm.InvalidRequest,
	"model_not_found":            llm.InvalidRequest,
}

// phrases are for errors that have no name of their own: the providers report
// them as invalid_request_error and only the sentence tells them apart.
var phrases = []struct {
	words string
	kind  llm.Kind
}{
	{"credit balance is too low", llm.Quota},
	{"exceeded your current quota", llm.Quota},
	{"reached your specified api usage limits", llm.Quota}, // github.com/anthropics/claude-code/issues/2127
	{"prompt is too long", llm.ContextLength},
	{"maximum context length", llm.ContextLength},
	{"exceed context limit", llm.ContextLength},
	{"exceeds the context window", llm.ContextLength},
	{"context window of this model", llm.ContextLength},
	{"context size has been exceeded", llm.ContextLength},
	{"exceeds the available context size", llm.ContextLength},
	{"maximum prompt length is", llm.ContextLength},              // xAI: github.com/cline/cline/issues/3120
	{"exceeds the maximum number of tokens", llm.ContextLength},  // Gemini: github.com/google-gemini/gemini-cli/issues/6678
	{"input is too long for requested model", llm.ContextLength}, // Bedrock
	{"reduce the length of the messages", llm.ContextLength},     // Groq
	{"greater than the context length", llm.ContextLength},       // LM Studio
	{"context window exceeds limit", llm.ContextLength},          // MiniMax
	{"exceeded model token limit", llm.ContextLength},            // Kimi
}

// tooLarge is said under the name of a rate limit of a request that is above the limit by
// itself, so that waiting helps nothing: github.com/Aider-AI/aider/issues/1880.
var tooLarge = []string{"request too large for", "must be reduced in order to run successfully"}

// kindOf decides what an error is: by the name the provider gave it, else by
// its sentence, else by the status.
func kindOf(status int, a apiError) llm.Kind {
	if a.status != 0 && status < 400 {
		status = a.status
	}
	message := strings.ToLower(a.message)
	if slices.ContainsFunc(tooLarge, func(words string) bool { return strings.Contains(message, words) }) {
		return llm.ContextLength
	}
	for _, name := range []string{a.code, a.kind} {
		if kind, ok := names[name]; ok {
			return kind
		}
	}
	if status < 429 || a.status != 0 && a.status < 429 {
		for _, p := range phrases {
			if strings.Contains(message, p.words) {
				return p.kind
			}
		}
	}
	if status < 400 && a.kind == "invalid_request_error" { // an error event inside HTTP 200 (firstday P2)
		return llm.InvalidRequest
	}
	return kindOfStatus(status)
}

func kindOfStatus(status int) llm.Kind {
	switch {
	case status == 401 || status == 403:
		return llm.Auth
	case status == 402:
		return llm.Quota
	case status == 408:
		return llm.Timeout
	case status == 429:
		return llm.RateLimited
	case status == 503 || status == 529:
		return llm.Overloaded
	case status >= 500:
		return llm.Server
	case status >= 400:
		return llm.InvalidRequest
	default:
		return llm.Server // an error event without a name, inside HTTP 200
	}
}
