# syntax=docker/dockerfile:1
#
#   docker build -t parley --build-arg VERSION="$(git describe --tags --always --dirty)" .
#   docker run --rm parley version
#   docker run -d --name parley --stop-timeout 60 -e TELEGRAM_TOKEN -e ANTHROPIC_API_KEY \
#     -v ./parley.yaml:/etc/parley/parley.yaml:ro -v parley:/var/lib/parley parley
#   docker exec parley /parley status --config /etc/parley/parley.yaml
#
# The program runs as the user 65532. It has to be able to read parley.yaml (chmod 644: the
# secrets are in the environment or in files of their own), and to write to /var/lib/parley:
# a new volume is its own; a folder of yours is after chown 65532. docs/install.md has more.
#
# The image holds one static program, which brings its own certificate roots, the licences,
# and the folders it writes to. There is no shell in it: for agents that run programs,
# Dockerfile.tools puts the program into a small Debian.
#
# No port is exposed. /livez, /readyz and /metrics are on 127.0.0.1:9464 inside
# the container; for a scraper elsewhere set ops.listen: 0.0.0.0:9464 with
# ops.public: true, and publish 9464 where only the scraper reaches it.
#
# At the end of the container running turns get worker.grace (20 s): stop it with
# --stop-timeout 60, or a termination grace period of at least that.

# The builder is named by what it is, so that nobody can put another in its place. For
# a newer one: docker buildx imagetools inspect golang:VERSION-bookworm
FROM --platform=$BUILDPLATFORM golang:1.26.8-bookworm@sha256:a688600ca24f8a4d3ca77f95b0dd40704a9fc787c826660eb7ba0b641b8b175d AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG VERSION=dev
ARG REVISION=unknown
ARG TARGETOS
ARG TARGETARCH
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    sh scripts/licences.sh >/THIRD-PARTY-LICENSES && \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -ldflags "-s -w -X main.release=${VERSION} -X main.revision=${REVISION}" -o /out/parley ./cmd/parley
# What the program may write to: the state, and scratch files of the database.
RUN mkdir -p -m 0755 /out/root/var/lib && mkdir -m 0700 /out/root/var/lib/parley && mkdir -m 1777 /out/root/tmp

FROM scratch
COPY --from=build /out/parley /parley
COPY --from=build /THIRD-PARTY-LICENSES /src/LICENSE /licenses/
COPY --from=build --chown=65532:65532 /out/root/ /
# Where the state is, unless the configuration says otherwise.
ENV STATE_DIRECTORY=/var/lib/parley
USER 65532:65532
STOPSIGNAL SIGTERM
# Whoever names another configuration, or sets ops.listen to off, says so here, too:
# docker run --health-cmd, or --no-healthcheck.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 CMD ["/parley", "healthcheck", "--config", "/etc/parley/parley.yaml"]
ENTRYPOINT ["/parley"]
CMD ["run", "--config", "/etc/parley/parley.yaml"]
