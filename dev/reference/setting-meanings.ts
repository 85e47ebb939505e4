/** The meaning of settings that no single value of the chart describes. */
export const WRITTEN: Readonly<Record<string, string>> = {
  GX_WATCH_NAMESPACES:
    'The namespaces that it works on, with commas. Empty: all. The chart takes watchNamespaces, or else those of agents.',
  HTTPS_PROXY:
    'The proxy for addresses of https (settings.proxy.https). Agents have the second name.',
  HTTP_PROXY: 'The proxy for addresses of http (settings.proxy.http). Agents have the second name.',
  NO_PROXY:
    'Who is asked directly: hosts, domains, addresses and blocks (settings.proxy.noProxy). Agents have the second name.',
  GX_NAMESPACE:
    'Its own namespace, which has its Lease, the Listeners and the API keys. Pods read it from Kubernetes.',
  GX_IDENTITY: 'Its name in the Lease. Pods read theirs from Kubernetes.',
  GX_LEASE_NAME: 'The Lease by which one of several operators leads.',
  GX_SERVER_HOST: 'The address that it listens at.',
  GX_SERVER_PORT: 'The port of its interface.',
  GX_HEALTH_PORT: 'The port of /healthz, /readyz and /metrics.',
  'console GX_CONTROL_PLANE_URL': 'Where the control plane answers.',
  GX_SESSION_KEY_FILE:
    'The file whose content, 32 bytes at least, seals sessions (console.sessionSecretName). Missing: the process makes one of its own.',
  GX_CLIENT_KEY_FILE:
    'The file whose content, 32 bytes at least, console and control plane share: the console signs its word about clients by it. Missing: only GX_TRUSTED_PROXIES count.',
  GX_REPORTS_PORT: "The port that takes agents' reports.",
  GX_POSTGRES_IMAGE: 'The image of databases (images.postgres).',
  GX_VALKEY_IMAGE: 'The image of key-value stores (images.valkey).',
  GX_PLATFORM_IMAGE: 'The image whose program sends backups (images.platform). Targets need it.',
  GX_RESERVED_SECRETS: 'Names of Secrets that REST users may not name: those of backup targets.',
  GX_RESERVED_CLAIMS:
    'Names of volume claims that REST users may not name: those of backup targets.',
  GX_BACKUP_TARGETS: 'Stores for backups, as JSON (settings.backups.targets).',
  GX_BUILD_IMAGE: 'The image of builds (images.builder). Empty: nothing is built.',
  GX_BUILD_BASE_IMAGE: 'The base image of built agents (images.agentServer).',
  GX_BUILD_PYTHON_BASE_IMAGE:
    'The base image of built agents with graphs in Python (images.agentServerPython).',
  GX_BUILDKIT_IMAGE:
    'The image of builds that run lines of Dockerfiles (images.buildkit). Empty: there are none.',
  GX_BUILD_NAMESPACE: 'Where builds run (builds.namespace).',
  GX_BUILD_PARALLEL_TOTAL:
    'Builds of all tenants at a time, more than those of one (builds.atOnceInAll). Default: twice as many.',
  GX_BUILDKIT_NAMESPACE:
    'Where builds with BuildKit run (builds.buildkit.namespace). Empty: there are none.',
  GX_GIT_NAMESPACE: 'Where the credentials of git hosts are kept (builds.gitNamespace).',
  GX_BUILDER_SERVICE_ACCOUNT: 'The account of the pods of builds, which may do nothing.',
  GX_BUILDER_REGISTRY_SECRET:
    'Registry credentials in the namespace of builds, to push (builds.pushSecret).',
  GX_BUILDER_PULL_SECRET:
    "Registry credentials in the agents' namespaces, to pull built images (builds.pullSecret).",
  GX_IMAGE_ARCHITECTURE:
    'The kind of processors that the images of the platform are for. Empty: any node takes them.',
  GX_IMAGE_PULL_SECRETS: 'Secrets with which all pods pull their images (global.imagePullSecrets).',
  GX_FIXED_IDS:
    'Whether pods of deployments and builds name the user and group of their image (fixedIds).',
  GX_PLACEMENT: 'Where the pods of deployments stand, as JSON (settings.placement).',
  GX_ROUTE: 'The route from outside to each deployment, as JSON (settings.route).',
  GX_HOSTING:
    'cloud, self-hosted or both: the sources of deployments that REST takes (controlPlane.hosting).',
  GX_GIT_INTEGRATIONS: 'Connections to git hosts, as JSON (controlPlane.gitIntegrations).',
  GX_TRUSTED_PROXIES: 'Addresses and blocks of proxies whose X-Forwarded-* headers count.',
  GX_CONSOLE: 'Whether there is a console, whose pods reach agents (console.enabled).',
  GX_GATEWAY_SERVICE: 'The Service of the gateway. Empty: nothing scales by work, or sleeps.',
  'control-plane GX_PROMETHEUS_URL':
    'The Prometheus server that checks of rollouts ask. Empty: REST refuses their queries.',
  GX_DEFAULT_CPU_MILLI: "CPU of an agent's pod in thousandths of a core (settings.cpuMilli).",
  GX_TLS_CERT_FILE: 'The certificate that it serves. Empty: plain HTTP (controlPlane.tls).',
  GX_TLS_KEY_FILE: "The certificate's key.",
  KUBERNETES_SERVICE_HOST: 'The address of the API server, which Kubernetes sets in each pod.',
};
