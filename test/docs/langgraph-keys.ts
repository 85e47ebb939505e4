/*
 * The keys of langgraph.json in the vendor's CLI 0.4.40, each with a value as its users write it.
 * test/python/langgraph-cli.test.ts compares the names with those of the CLI.
 */

const AN_AUTH = { auth: { path: './auth.py:auth' } };
const AN_INDEX = { store: { index: { dims: 2, embed: 'openai:text-embedding-3-small' } } };

export type LanggraphKey = {
  value: unknown;
  /** Sections that it does not stand without. */
  beside?: object;
};

export const LANGGRAPH_KEYS: Readonly<Record<string, LanggraphKey>> = {
  graphs: {
    value: {
      agent: { path: './agent.py:graph', description: 'answers' },
      other: 'agents.other:make',
    },
  },
  dependencies: { value: ['.', './lib', 'idna>=3', 'git+https://git.example.com/thing.git@main'] },
  python_version: { value: '3.12' },
  pip_config_file: { value: './pip.conf' },
  pip_installer: { value: 'pip' },
  keep_pkg_tools: { value: ['setuptools'] },
  'source.kind': { value: 'uv' },
  'source.root': { value: '.', beside: { source: { kind: 'uv' } } },
  'source.package': { value: 'agent', beside: { source: { kind: 'uv' } } },
  dockerfile_lines: { value: ['RUN true'] },
  base_image: { value: 'registry.example.com/other:1' },
  image_distro: { value: 'wolfi' },
  api_version: { value: '0.8' },
  _INTERNAL_docker_tag: { value: '0.8-py3.12' },
  node_version: { value: '22' },
  env: { value: { NAME: 'value' } },
  'store.index.dims': { value: 2, beside: AN_INDEX },
  'store.index.embed': { value: './embed.py:embed', beside: AN_INDEX },
  'store.index.fields': { value: ['title', 'author.biography'], beside: AN_INDEX },
  'store.ttl.refresh_on_read': { value: false },
  'store.ttl.default_ttl': { value: 1.5 },
  'store.ttl.sweep_interval_minutes': { value: 5 },
  'checkpointer.path': { value: './saver.py:saver' },
  'checkpointer.ttl.strategy': { value: 'keep_latest' },
  'checkpointer.ttl.default_ttl': { value: 60 },
  'checkpointer.ttl.sweep_interval_minutes': { value: 5 },
  'checkpointer.ttl.sweep_limit': { value: 1000 },
  'checkpointer.serde.allowed_json_modules': { value: true },
  'checkpointer.serde.allowed_msgpack_modules': { value: [['agent', 'Profile']] },
  'checkpointer.serde.pickle_fallback': { value: false },
  'auth.path': { value: 'src/auth.py:auth' },
  'auth.disable_studio_auth': { value: true, beside: AN_AUTH },
  'auth.openapi.securitySchemes': {
    value: { Key: { type: 'apiKey', in: 'header', name: 'x-key' } },
    beside: AN_AUTH,
  },
  'auth.openapi.security': { value: [{ Key: [] }], beside: AN_AUTH },
  'auth.openapi.paths': { value: { '/mine': { GET: [{ Key: [] }] } }, beside: AN_AUTH },
  'auth.cache.cache_keys': { value: ['authorization'], beside: AN_AUTH },
  'auth.cache.ttl_seconds': {
    value: 60,
    beside: { auth: { ...AN_AUTH.auth, cache: { cache_keys: ['authorization'] } } },
  },
  'auth.cache.max_size': {
    value: 100,
    beside: { auth: { ...AN_AUTH.auth, cache: { cache_keys: ['authorization'] } } },
  },
  'encryption.path': { value: 'src/encryption.py:encryption' },
  'priority.path': { value: './priority.py:priority' },
  'http.app': { value: 'src/app.py:app' },
  'http.disable_assistants': { value: true },
  'http.disable_threads': { value: true },
  'http.disable_runs': { value: true },
  'http.disable_store': { value: true },
  'http.disable_mcp': { value: true },
  'http.disable_a2a': { value: true },
  'http.disable_meta': { value: true },
  'http.disable_ui': { value: true },
  'http.disable_webhooks': { value: true },
  'http.cors.allow_origins': { value: ['https://example.com'] },
  'http.cors.allow_methods': { value: ['GET'] },
  'http.cors.allow_headers': { value: ['x-team'] },
  'http.cors.allow_credentials': { value: true },
  'http.cors.allow_origin_regex': { value: String.raw`https://.*\.example\.com` },
  'http.cors.expose_headers': { value: ['x-team'] },
  'http.cors.max_age': { value: 60 },
  'http.configurable_headers.includes': { value: ['x-team-*'] },
  'http.configurable_headers.excludes': { value: ['x-team-secret'] },
  'http.logging_headers.includes': { value: ['x-team-*'] },
  'http.logging_headers.excludes': { value: ['x-team-secret'] },
  'http.middleware_order': { value: 'auth_first' },
  'http.enable_custom_route_auth': { value: true },
  'http.mount_prefix': { value: '/api' },
  'webhooks.env_prefix': { value: 'TEAM_' },
  'webhooks.url.require_https': { value: true },
  'webhooks.url.allowed_domains': { value: ['*.example.com'] },
  'webhooks.url.allowed_ports': { value: [443] },
  'webhooks.url.max_url_length': { value: 2000 },
  'webhooks.url.disable_loopback': { value: true },
  'webhooks.headers': { value: { 'x-team': '${{ env.TEAM_KEY }}' } },
  ui: { value: { agent: './ui.tsx' } },
  ui_config: { value: { shared: ['react'] } },
};

/** Keys of ours that its users know from the server itself. */
export const KEYS_OF_THE_SERVER: Readonly<Record<string, LanggraphKey>> = {
  'store.path': { value: './store.py:store' },
};
