// Package model is a model provider as a real HTTP server on loopback: it
// speaks the wire protocols of Anthropic Messages, OpenAI Chat Completions, OpenAI
// Responses and OpenAI's transcriptions, refuses what those providers refuse, breaks on command, and
// keeps its own bill.
//
//	request ─ auth ─ parse and judge ─ fault plan ─ Brain ─ usage ─ render ─ play ─ bill
//	             └──────── refused ────────┴─────────────────────────────────────┘
//
// What is answered is decided by a [Brain], which sees a [Prompt] without any
// protocol in it and gives an [Answer]. [Echo], [Demo] and [Scripted] are built
// in.
//
// # How tokens are counted
//
// Every tool definition, block of the system text, block of a message and
// block of an answer counts as ceil(bytes/4) tokens, where the bytes are the
// text itself: for a call its name and arguments, for a result its content as
// sent, for a tool its name, description and schema, for anything else its
// JSON. Nothing is added for roles. An answer is cut off at the request's most tokens, as
// providers do. When a stream is cut, the output that is billed is
// ceil(output × bytes sent / bytes of the answer); a call whose response head
// was never sent costs nothing.
//
// # How thinking is simulated
//
// What a brain thinks is thought, whatever the request says, and billed as output. Which
// thinking, effort, temperature and top_p a model takes is judged by its name: see the tables
// of Claude's models and of OpenAI's; of a model that is in neither only what holds for all.
// Thinking must come back as it was issued. In an open tool loop of a model that is told a
// number of tokens, or that no table has, it must come back at all; on models with preserved
// thinking it must come back behind the same system text, tools and messages, or is refused or
// dropped as thinking.block_binding says. Newer models show their thinking only if asked.
//
// # How prompt caching is simulated
//
// A prefix is all tools, then the system text, then the messages, up to the
// end of one block; two prefixes are the same when model, roles, kinds and
// texts are. Thinking and effort, where they are not the default, are part of the
// prefixes of messages.
//
// Anthropic: the longest remembered prefix at or before the last
// cache_control breakpoint is read; what lies between it and that breakpoint
// is written, as 1 h up to the last 1 h breakpoint and as 5 m after it. Every
// breakpoint is then remembered for its time; reading renews it. A breakpoint
// whose prefix is shorter than Options.MinCacheTokens does nothing.
//
// OpenAI: the longest remembered prefix, rounded down to 128 tokens, counts
// as cached if it has at least Options.MinCacheTokens. The end of every block
// is remembered for ten minutes. A request of Responses with prompt_cache_options is
// remembered for 30 minutes or 12 hours, as its ttl says, and what is not read is
// billed as written for that time.
//
// # What Responses leaves out
//
// Nothing is stored, whatever store says: previous responses and items are not
// found, and reasoning must come back with its encrypted content, which holds
// its id and summary to what they were. The tools and instructions of a request
// are not repeated in the answer. Of the provider's own tools there are none;
// items of theirs are taken and count as their JSON.
//
// # Transcriptions
//
// Sound in a form of OpenAI's /v1/audio/transcriptions is answered in JSON. What is
// said in it are the words with which [Voice] made it; other files say nothing. Files
// whose name or content is of no format that the API takes are refused with 400, as are
// sounds of less than 0.1 s, and requests of more than 25 MiB with 413. Models whose
// names begin with gpt- bill ten tokens a second and the tokens of the text, others
// whole seconds, as the usage of the answer tells. Sources: the API's reference and its
// guide for speech to text (formats, 25 MB, both forms of usage), and what people were
// answered: openai/openai-python #333 and #2477, chidiwilliams/buzz #381,
// B4PT0R/streamlit-mic-recorder #10.
//
// # The control interface
//
// Another process may use GET /sim/bill, POST and DELETE /sim/faults and POST
// /sim/reset. They ask for no key: the server belongs on
// loopback.
package model
