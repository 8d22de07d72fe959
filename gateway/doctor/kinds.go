package doctor

import "parley/findings"

// Kinds of findings, by what they are of. docs/doctor.md has each of them.
var (
	stateFolder = fine("state.folder", "The state folder is this user's, and no other user may read it.")
	stateNew    = fine("state.new", "There is no state folder yet: parley run makes it.")
	stateOwner  = problem("state.owner", "The state folder belongs to another user. Nothing else was examined: what this user sees of it would say nothing of the gateway, and files that it makes there would stop the gateway.",
		"Run it as the user that runs the gateway, with sudo -u or in its container.")
	stateShared = warning("state.shared", "Other users may look into the state folder, or make files there. What parley makes in it is its own user's alone, but its names tell which conversations there are.",
		"Take the right away: chmod 0700 on the folder. Where a volume in a container is like that, nobody else is there.")
	stateBroken = problem("state.unreadable", "The state folder cannot be looked at, or is no folder.", "Look at state_dir and at the folders above it.")

	diskSpace = fine("disk.space", "The disk of the state folder has room.")
	diskLow   = problem("disk.low", "The disk of the state folder is nearly full. When it is, nothing new is accepted, and the networks are not told that anything was.",
		"Make room, or move state_dir to a larger disk.")
	diskUnknown = warning("disk.unknown", "The system does not say how much room the disk of the state folder has.", "Look at the mount of state_dir.")

	gatewayRunning = fine("gateway.running", "A gateway runs on this state folder, and says that all is well.")
	gatewayStopped = fine("gateway.stopped", "No gateway runs on this state folder. What only a running one knows was not examined.")
	gatewayProblem = problem("gateway.problem", "The gateway that runs here says that something is wrong, as parley status does.",
		"Do what the sentence says; docs/operating.md explains what the status shows.")
	gatewayMute = warning("gateway.unreachable", "A gateway runs here, or has, and its socket does not answer.",
		"Look with parley status; if it is stuck, its log says why.")

	configWarning = warning("config.warning", "The configuration allows what is perhaps not meant, as parley check-config says.", "Change the key that the finding names, or leave it if it is meant.")

	clockRight  = fine("clock.right", "This machine's clock agrees with the clocks of the servers that were asked.")
	clockOffset = warning("clock.offset", "This machine's clock is off. Budgets begin and end their days at the wrong time, schedules run at the wrong time, and beyond five minutes requests with signatures are refused.",
		"Have the clock set by the network: timedatectl set-ntp true, or chrony.")

	exposureLocal   = fine("exposure.local", "Nothing that has no password listens where other machines reach it.")
	exposureMetrics = warning("exposure.metrics", "Metrics and readiness are served without a password on an address that other machines reach. They name no person, and tell what is spent and which models and channels there are.",
		"Set ops.listen to 127.0.0.1, or let a firewall or a network policy allow only Prometheus.")
	exposureNATS = warning("exposure.nats", "The NATS server on another machine takes parley without credentials, and so perhaps everybody.",
		"Require credentials or a token there, and set broker.credentials_file or broker.token_file.")
	exposureRedis = warning("exposure.redis", "The Redis server on another machine takes parley without a password, and so perhaps everybody.",
		"Set requirepass or an ACL there, and store.redis.password_file.")

	sandboxFull   = fine("sandbox.full", "Programs that agents start have all walls that parley knows (level A).")
	sandboxWeaker = warning("sandbox.weaker", "Programs that agents start have weaker walls than parley could build on another machine.",
		"docs/operating.md says what each level lacks and which settings of the kernel, the service manager or the container take walls away.")
	sandboxNone = problem("sandbox.none", "This machine cannot wall programs in, so agents do not have the tools that run some.",
		"Allow user namespaces or Landlock for parley, or take those tools out of the configuration.")
	sandboxHosts = problem("sandbox.hosts", "Programs cannot be kept to a list of hosts here, so the tools with such a list do not run.",
		"Allow user namespaces for parley, or take the list (network) out of these tools; network: true gives them all of this machine's network.")
	sandboxMissing = problem("sandbox.missing", "The program of a tool is not on this machine, so agents do not have the tool.",
		"Install it (bash), or use the image of Dockerfile.tools, which has it; or take the tool out of the configuration.")
	sandboxHost = warning("sandbox.host", "Programs that agents start have no walls at all, because sandbox.mode says so.",
		"Remove sandbox.mode: unsafe-host, unless the whole machine is the wall.")

	logEmbedded = fine("log.embedded", "The message log is in the gateway's own process.")
	logServers  = fine("log.streams", "The message log's streams are as parley needs them, with all their replicas.")
	logNew      = fine("log.new", "The message log has no streams yet: the first start makes them.")
	logGone     = problem("log.unreachable", "The NATS servers at broker.url do not answer, refuse parley, or have no JetStream. Nothing is accepted.",
		"Look whether the servers run, at broker.url, and at broker.credentials_file or broker.token_file.")
	logUnusable = problem("log.unusable", "A stream of the message log is made such that messages would be lost.",
		"Stop parley, save what is in the stream, and delete it: the next start makes it anew.")
	logFewer = warning("log.fewer", "A stream keeps each message on fewer servers than broker.replicas says.",
		"Restart parley, which changes the stream, when all servers of the cluster run.")
	logBehind = problem("log.behind", "A server that should keep a stream is away or behind. If another one fails, the log stands still or loses what was confirmed.",
		"Bring the server back: nats server report jetstream shows it.")
	logOld = warning("log.version", "This version of the NATS server has known faults in syncing its files: a power cut may lose what it confirmed.",
		"Upgrade nats-server to 2.15.2 or newer.")

	storeSQLite = fine("store.sqlite", "Conversations are in SQLite in the state folder, which is synced with every commit.")

	redisServer = fine("redis.server", "Redis keeps what it is told, and forgets nothing.")
	redisGone   = problem("redis.unreachable", "Redis does not answer, or refuses parley. Nothing is answered.",
		"Look whether it runs, at store.redis.url, and at store.redis.password_file.")
	redisUnfit = problem("redis.unfit", "This Redis cannot be used: parley run refuses it.", "Do what the detail says.")
	redisAOF   = problem("redis.persistence", "Redis does not write down what it is told (appendonly no): a restart loses everything since its last snapshot. parley run refuses it.",
		"Set appendonly yes in redis.conf.")
	redisFsync = problem("redis.sync", "Redis leaves to the operating system when its file reaches the disk (appendfsync no), which may be half a minute. parley run refuses it.",
		"Set appendfsync everysec, or always.")
	redisMute = warning("redis.sync_unknown", "CONFIG GET is not allowed, so nobody knows how often Redis syncs its file.",
		"See to it that appendfsync is everysec or always; managed services say it in their own settings.")
	redisEviction = problem("redis.eviction", "When its memory is full Redis forgets keys, among them messages and money. parley run refuses it.",
		"Set maxmemory-policy noeviction.")
	redisMemory = warning("redis.memory", "Redis has used most of the memory that maxmemory gives it. When it is full, no message is answered.",
		"Raise maxmemory, or look with redis-cli --bigkeys what takes the room.")

	tracesTaken   = fine("traces.taken", "The server of tracing.endpoint takes traces. It was sent a request that holds none.")
	tracesRefused = warning("traces.refused", "The server of tracing.endpoint does not take traces. Messages are answered all the same; the traces are dropped and counted (parley_trace_spans_total).",
		"Look whether the server runs and takes OTLP over HTTP, at tracing.endpoint with its port (4318, not 4317) and path, and at tracing.headers.")

	modelAnswers = fine("model.listed", "The provider takes the key and has the model. It was asked for its list of models, which costs nothing; no model was called.")
	modelSkipped = fine("model.skipped", "The provider was not asked, because --no-models says so.")
	modelKey     = problem("model.key", "The provider refuses the key. Every call of the model fails.",
		"Make a key in the provider's console and put it where providers.NAME.api_key reads it, then parley reload.")
	modelMissing = problem("model.missing", "The provider does not have the model under this name, or not for this key.",
		"Correct the name: the provider's documentation lists them.")
	modelUnlisted = warning("model.unlisted", "The server does not say which models it has, so only the way to it was examined.",
		"Nothing, if it answers; parley try shows whether it does.")
	modelUnreachable = problem("model.unreachable", "The provider does not answer from this machine.",
		"Look at the network, at HTTPS_PROXY and NO_PROXY, and at providers.NAME.base_url.")
	modelBusy = warning("model.busy", "The provider refuses requests at present: too many, overloaded, or out of credit.",
		"Wait, or look at the account's limits and credit in the provider's console.")
	modelUnpriced = warning("model.unpriced", "Nobody knows what the model costs: its calls are reckoned at prices.ceiling, or are missing from all sums.",
		"List it in prices.file; parley prices ls shows what is known.")
	modelRefused = problem("model.refused", "The model has no price and a budget applies, so no call of it is made.",
		"List it in prices.file, or give prices.ceiling; of a model for voice notes, transcription.price_per_minute.")

	mcpUp       = fine("mcp.up", "The MCP server answers, and has said which tools it has.")
	mcpSkipped  = fine("mcp.skipped", "The MCP server was not looked at, because --no-mcp says so.")
	mcpStarting = warning("mcp.starting", "The gateway that runs is connecting to the MCP server, or is ending.", "Look again in half a minute.")
	mcpProgram  = problem("mcp.program", "The program of the MCP server does not start, ends, or does not say what tools it has. Agents have those of its tools that you have consented to, and every call of them fails.",
		"The detail has what it wrote at last. In the sandbox it sees the system's programs, what read_only names, the variables of env and no home; of the network what network says. Without a sandbox it is not started.")
	mcpUnreachable = problem("mcp.unreachable", "What stands at the URL of the MCP server does not answer, or does not speak MCP over streamable HTTP. Every call of its tools fails.",
		"Look whether it runs, at url with its path, and at allow_private for a server in a network of your own. No proxy is used and no redirect is followed.")
	mcpRefused = problem("mcp.refused", "The MCP server answers and refuses parley: it does not take the token of headers.authorization, or permits nothing with it.",
		"Make a new token at the server, put it where the configuration reads it, and restart.")
	mcpNoLogin = problem("mcp.login_missing", "The MCP server wants a login, and nobody has logged in, or not with this URL, issuer and client. Every call of its tools fails.",
		"Start the gateway, and log in with parley mcp login and the server's name.")
	mcpLoginOver = problem("mcp.login_over", "The login at the MCP server is over: its token has ended and cannot be replaced, or the server or its authorization server has ended it. Every call of its tools fails.",
		"Log in again with parley mcp login and the server's name, while the gateway runs.")
	mcpNoToken = problem("mcp.login_stuck", "There is a login at the MCP server, or oauth.grant is client_credentials, and no token can be had: the authorization server does not answer or refuses, or a file cannot be read.",
		"Do what the detail says. An authorization server in a network of your own stands in allow_private with its port; client_id, client_secret_file, key_file and issuer are below oauth.")
	mcpTokenDue = fine("mcp.login_due", "The MCP server answers, and the token of the login has ended. The gateway replaces it when it starts. It was not tried, because what replaces a token serves once.")
	mcpRights   = warning("mcp.login_rights", "A tool of the MCP server wants a login with more rights than there are. Calls of it fail.",
		"Log in once more with parley mcp login and the server's name: it asks for those rights too.")
	mcpTools = warning("mcp.tools", "Agents do not have tools of the MCP server that the configuration names: the server has none of that name (missing), you have not consented to it (new), it is not what you consented to (changed), or it cannot be offered (unfit).",
		"parley mcp ls says why, with the gateway running. Correct the name, or read the tool with parley mcp show and consent with parley mcp allow.")

	pricesOld = warning("prices.old", "The newest price of the models in use is half a year old, and costs may be wrong by now.",
		"Use a newer parley, or a list of your own (prices.file).")
)

func fine(id, meaning string) findings.Kind {
	return findings.Kind{ID: id, Severity: findings.Fine, Meaning: meaning}
}

func warning(id, meaning, fix string) findings.Kind {
	return findings.Kind{ID: id, Severity: findings.Warning, Meaning: meaning, Fix: fix}
}

func problem(id, meaning, fix string) findings.Kind {
	return findings.Kind{ID: id, Severity: findings.Problem, Meaning: meaning, Fix: fix}
}

// Kinds returns what [Examine] may find beside what the channels find.
func Kinds() []findings.Kind {
	return []findings.Kind{
		stateFolder, stateNew, stateOwner, stateShared, stateBroken,
		diskSpace, diskLow, diskUnknown,
		gatewayRunning, gatewayStopped, gatewayProblem, gatewayMute,
		configWarning,
		clockRight, clockOffset,
		exposureLocal, exposureMetrics, exposureNATS, exposureRedis,
		sandboxFull, sandboxWeaker, sandboxNone, sandboxHosts, sandboxMissing, sandboxHost,
		logEmbedded, logServers, logNew, logGone, logUnusable, logFewer, logBehind, logOld,
		storeSQLite,
		redisServer, redisGone, redisUnfit, redisAOF, redisFsync, redisMute, redisEviction, redisMemory,
		tracesTaken, tracesRefused,
		modelAnswers, modelSkipped, modelKey, modelMissing, modelUnlisted, modelUnreachable, modelBusy, modelUnpriced, modelRefused, pricesOld,
		mcpUp, mcpSkipped, mcpStarting, mcpProgram, mcpUnreachable, mcpRefused, mcpNoLogin, mcpLoginOver, mcpNoToken, mcpTokenDue, mcpRights, mcpTools,
	}
}
