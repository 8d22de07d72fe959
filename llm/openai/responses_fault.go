package openai

import (
	"cmp"
	"encoding/json"
	"strings"

	"parley/llm"
	"parley/llm/wire"
)

// reportedFault returns the fault that the provider reported in an event of type error
// or in a failed response. Documented is {"type":"error","code","message"};
// what comes as often is the same inside of "error".
func reportedFault(x *wire.Exchange, raw []byte) *llm.Error {
	var outer struct {
		Code    json.RawMessage `json:"code"`
		Message string          `json:"message"`
		Error   json.RawMessage `json:"error"`
	}
	if json.Unmarshal(raw, &outer) != nil {
		return x.Fault(wire.ErrMalformed)
	}
	if !isPresent(outer.Error) {
		if !isPresent(outer.Code) && outer.Message == "" {
			return x.ProtocolFault(llm.Server, "the provider failed without a reason")
		}
		fields := map[string]any{"message": outer.Message}
		if isPresent(outer.Code) {
			fields["code"] = outer.Code
		}
		raw = marshalObject(map[string]any{"error": fields})
	}
	var named struct {
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(raw, &named) == nil {
		if kind, ok := kindOfCode(named.Error.Code); ok {
			return x.ProtocolFault(kind, cmp.Or(named.Error.Message, named.Error.Code))
		}
	}
	return x.ReportedFault(raw)
}

// kindOfCode knows the codes that only this protocol uses. None of them comes
// with a status, so what they mean has to be known.
func kindOfCode(code string) (llm.Kind, bool) {
	switch {
	case code == "too_many_requests" || code == "slow_down":
		return llm.RateLimited, true
	case code == "vector_store_timeout":
		return llm.Timeout, true
	case strings.HasSuffix(code, "_policy") || strings.HasSuffix(code, "policy_violation"):
		return llm.ContentFilter, true
	case code == "invalid_prompt" || code == "invalid_encrypted_content" || code == "data_residency_mismatch" || strings.Contains(code, "image"):
		return llm.InvalidRequest, true
	default:
		return "", false
	}
}
