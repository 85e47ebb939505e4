/** The meaning of settings that no single value of the chart describes. */
export const WRITTEN: Readonly<Record<string, string>> = {
  GX_WATCH_NAMESPACES:
    'The namespaces to watch, separated by commas. Empty: all. The chart takes watchNamespaces, or else those of agents.',
  HTTPS_PROXY: 'The proxy for https addresses (settings.proxy.https). Agents get the second name.',
  HTTP_PROXY: 'The proxy for http addresses (settings.proxy.http). Agents get the second name.',
  NO_PROXY:
    'Hosts, domains, addresses and blocks that are contacted without the proxy (settings.proxy.noProxy). Agents get the second name.',
  GX_NAMESPACE:
    'Its own namespace, which has its Lease, the Listeners and the API keys. Pods read it from Kubernetes.',
  GX_IDENTITY: 'Its name in the Lease. Pods read theirs from Kubernetes.',
  GX_LEASE_NAME: 'The Lease for leader election among several operators.',
  GX_SERVER_HOST: 'The address to listen on.',
  GX_SERVER_PORT: 'The port of the API.',
  GX_HEALTH_PORT: 'The port of /healthz, /readyz and /metrics.',
  'console GX_CONTROL_PLANE_URL': 'Address of the control plane.',
  GX_SESSION_KEY_FILE:
    'File with the secret, of at least 32 bytes, that encrypts sessions (console.sessionSecretName). Missing: each process generates one of its own.',
  GX_CLIENT_KEY_FILE:
    'File with the secret, of at least 32 bytes, that console and control plane share: the console signs the addresses of clients with it. Missing: only GX_TRUSTED_PROXIES count.',
  GX_REPORTS_PORT: "The port that receives agents' reports.",
  GX_POSTGRES_IMAGE: 'The image of databases (images.postgres).',
  GX_VALKEY_IMAGE: 'The image of key-value stores (images.valkey).',
  GX_PLATFORM_IMAGE:
    'The image whose program sends backups (images.platform). Required with backup targets.',
  GX_RESERVED_SECRETS: 'Secrets that REST users may not refer to: those of backup targets.',
  GX_RESERVED_CLAIMS: 'Volume claims that REST users may not refer to: those of backup targets.',
  GX_BACKUP_TARGETS: 'Stores for backups, as JSON (settings.backups.targets).',
  GX_BUILD_IMAGE: 'The image of builds (images.builder). Empty: nothing is built.',
  GX_BUILD_BASE_IMAGE: 'The base image of built agents (images.agentServer).',
  GX_BUILD_PYTHON_BASE_IMAGE:
    'The base image of built agents with graphs in Python (images.agentServerPython).',
  GX_BUILDKIT_IMAGE:
    'The image of builds that run Dockerfile lines (images.buildkit). Empty: there are no such builds.',
  GX_BUILD_NAMESPACE: 'Namespace of builds (builds.namespace).',
  GX_BUILD_PARALLEL_TOTAL:
    'Builds of all tenants at a time, more than those of one (builds.atOnceInAll). Default: twice as many.',
  GX_BUILDKIT_NAMESPACE:
    'Namespace of builds with BuildKit (builds.buildkit.namespace). Empty: there are no such builds.',
  GX_GIT_NAMESPACE: 'Namespace of the credentials of git hosts (builds.gitNamespace).',
  GX_BUILDER_SERVICE_ACCOUNT: 'The service account of build pods, which has no permissions.',
  GX_BUILDER_REGISTRY_SECRET:
    'Registry credentials in the namespace of builds, to push (builds.pushSecret).',
  GX_BUILDER_PULL_SECRET:
    "Registry credentials in the agents' namespaces, to pull built images (builds.pullSecret).",
  GX_IMAGE_ARCHITECTURE:
    "Processor architecture of the platform's images. Empty: they run on any node.",
  GX_IMAGE_PULL_SECRETS: 'Image pull Secrets of all pods (global.imagePullSecrets).',
  GX_FIXED_IDS:
    'Whether pods of deployments and builds set the user and group of their image (fixedIds).',
  GX_PLACEMENT: 'Placement of the pods of deployments, as JSON (settings.placement).',
  GX_ROUTE: 'The route from outside to each deployment, as JSON (settings.route).',
  GX_HOSTING:
    'cloud, self-hosted or both: the sources of deployments that REST accepts (controlPlane.hosting).',
  GX_GIT_INTEGRATIONS: 'Connections to git hosts, as JSON (controlPlane.gitIntegrations).',
  GX_TRUSTED_PROXIES: 'Addresses and blocks of proxies whose X-Forwarded-* headers are trusted.',
  GX_CONSOLE: 'Whether a console is installed, whose pods may reach agents (console.enabled).',
  GX_GATEWAY_SERVICE:
    'The Service of the gateway. Empty: no autoscaling of queue pods, and no scale to zero.',
  'control-plane GX_PROMETHEUS_URL':
    'The Prometheus server that rollout checks query. Empty: REST refuses checks with a query.',
  GX_DEFAULT_CPU_MILLI: "CPU of an agent's pod in thousandths of a core (settings.cpuMilli).",
  GX_TLS_CERT_FILE: 'The certificate that it serves. Empty: plain HTTP (controlPlane.tls).',
  GX_TLS_KEY_FILE: "The certificate's key.",
  KUBERNETES_SERVICE_HOST: 'The address of the API server, which Kubernetes sets in each pod.',
};
