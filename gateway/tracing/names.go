package tracing

// Names of attributes, by the semantic conventions for generative AI
// (open-telemetry/semantic-conventions-genai, of which there is no release yet) and, for
// errors and the service, those of OpenTelemetry. A test compares what spans hold with them.
const (
	attrOperation    = "gen_ai.operation.name"
	attrProvider     = "gen_ai.provider.name"
	attrAgent        = "gen_ai.agent.name"
	attrConversation = "gen_ai.conversation.id"
	attrModel        = "gen_ai.request.model"
	attrStream       = "gen_ai.request.stream"
	attrAnswered     = "gen_ai.response.model"
	attrFinish       = "gen_ai.response.finish_reasons"
	attrFirstChunk   = "gen_ai.response.time_to_first_chunk"
	attrInput        = "gen_ai.usage.input_tokens"
	attrCacheRead    = "gen_ai.usage.cache_read.input_tokens"
	attrCacheWrite   = "gen_ai.usage.cache_write.input_tokens"
	attrOutput       = "gen_ai.usage.output_tokens"
	attrReasoning    = "gen_ai.usage.reasoning.output_tokens"
	attrTool         = "gen_ai.tool.name"
	attrToolCall     = "gen_ai.tool.call.id"
	attrToolType     = "gen_ai.tool.type"

	attrError    = "error.type"
	attrService  = "service.name"
	attrVersion  = "service.version"
	attrInstance = "service.instance.id"
)

// Operations of the conventions.
const (
	opChat        = "chat"
	opInvokeAgent = "invoke_agent"
	opExecuteTool = "execute_tool"
	// opTranscribe is none of the conventions, which have nothing for it.
	opTranscribe = "transcribe"
)

// Names of our own attributes, where the conventions have none. docs/tracing.md lists them.
const (
	attrTurn       = "parley.turn.id"
	attrOutcome    = "parley.outcome" // of a turn, a call or a delivery, as metrics and log name it
	attrTake       = "parley.turn.take"
	attrSteps      = "parley.turn.steps"
	attrTurnCost   = "parley.turn.cost.pico_usd"
	attrOrigin     = "parley.origin" // which part queued a message that no network brought
	attrChannel    = "parley.channel"
	attrChat       = "parley.chat"
	attrEvent      = "parley.event.kind"
	attrParts      = "parley.delivery.parts"
	attrPurpose    = "parley.purpose"
	attrStep       = "parley.step"
	attrAttempt    = "parley.attempt"
	attrByProvider = "parley.provider" // as the configuration names it
	attrCost       = "parley.cost.pico_usd"
	attrDollars    = "parley.cost.usd"
	attrPriced     = "parley.cost.priced"
	attrUsage      = "parley.usage.source" // who counted the tokens
)
