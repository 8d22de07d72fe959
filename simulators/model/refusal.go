package model

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
)

// Refusal is an error answer in the provider's own words.
type Refusal struct {
	Status  int
	Type    string // empty: what the provider uses with this status
	Message string // empty: what the provider says with this status
	Param   string // OpenAI only
	Code    string // OpenAI only
}

var anthropicErrors = map[int][2]string{
	400: {"invalid_request_error", "Invalid request."},
	401: {"authentication_error", "invalid x-api-key"},
	402: {"billing_error", "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."},
	403: {"permission_error", "Your API key does not have permission to use the specified resource."},
	404: {"not_found_error", "Not found"},
	405: {"invalid_request_error", "Method Not Allowed"},
	413: {"request_too_large", "Request exceeds the maximum size"},
	429: {"rate_limit_error", "This request would exceed your organization's rate limit. Please reduce the prompt length or the maximum tokens requested, or try again later."},
	500: {"api_error", "Internal server error"},
	502: {"api_error", "Bad gateway"},
	503: {"api_error", "Service unavailable"},
	504: {"timeout_error", "Request timed out"},
	529: {"overloaded_error", "Overloaded"},
}

var openaiErrors = map[int][3]string{ // type, code, message
	400: {"invalid_request_error", "", "Invalid request."},
	401: {"invalid_request_error", "invalid_api_key", "Incorrect API key provided. You can find your API key at https://platform.openai.com/account/api-keys."},
	403: {"invalid_request_error", "unsupported_country_region_territory", "Country, region, or territory not supported"},
	404: {"invalid_request_error", "", "Not found"},
	405: {"invalid_request_error", "method_not_supported", "Method not allowed"},
	413: {"invalid_request_error", "", "Maximum request body size exceeded."},
	429: {"requests", "rate_limit_exceeded", "Rate limit reached for requests per min (RPM). Please try again later."},
	500: {"server_error", "", "The server had an error while processing your request. Sorry about that!"},
	502: {"server_error", "", "Bad gateway."},
	503: {"server_error", "", "The engine is currently overloaded, please try again later."},
	529: {"server_error", "", "The engine is currently overloaded, please try again later."},
}

// body returns the refusal as p writes it.
func (r *Refusal) body(p Protocol, requestID string) []byte {
	var v any
	if p == Anthropic {
		known, ok := anthropicErrors[r.Status]
		if !ok {
			known = [2]string{"api_error", http.StatusText(r.Status)}
		}
		v = anthropicError{
			Type:      "error",
			Error:     anthropicErrorInner{cmp.Or(r.Type, known[0]), cmp.Or(r.Message, known[1])},
			RequestID: requestID,
		}
	} else {
		known, ok := openaiErrors[r.Status]
		if !ok {
			known = [3]string{"server_error", "", http.StatusText(r.Status)}
		}
		code := r.Code
		if r.Message == "" && r.Type == "" {
			code = cmp.Or(code, known[1])
		}
		v = openaiError{openaiErrorInner{cmp.Or(r.Message, known[2]), cmp.Or(r.Type, known[0]), orNull(r.Param), orNull(code)}}
	}
	b, err := json.Marshal(v)
	if err != nil { // strings only: cannot happen
		return []byte(`{"error":` + strconv.Quote(err.Error()) + `}`)
	}
	return b
}

type anthropicError struct {
	Type      string              `json:"type"`
	Error     anthropicErrorInner `json:"error"`
	RequestID string              `json:"request_id,omitempty"`
}

type anthropicErrorInner struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

type openaiError struct {
	Error openaiErrorInner `json:"error"`
}

type openaiErrorInner struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// words are the message and the code that an event of Responses has for r. The
// code is never empty there.
func (r *Refusal) words() (message, code string) {
	known, ok := openaiErrors[r.Status]
	if !ok {
		known = [3]string{"server_error", "", http.StatusText(r.Status)}
	}
	return cmp.Or(r.Message, known[2]), cmp.Or(r.Code, known[1], known[0])
}

// invalid returns a refusal with status 400.
func invalid(message string) *Refusal { return &Refusal{Status: 400, Message: message} }

// invalidParam returns a refusal with status 400 as OpenAI writes it.
func invalidParam(param, code, message string) *Refusal {
	return &Refusal{Status: 400, Message: message, Param: param, Code: code}
}
