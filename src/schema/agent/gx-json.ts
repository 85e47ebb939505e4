import { Type, type Static, type TUnsafe } from 'typebox';
import { BudgetList } from './budget.ts';
import { CheckpointerTtl, StoreTtl } from './expiry.ts';
import {
  buildClosedSchema,
  buildFreeFormSchema,
  buildMapSchema,
  buildEnumSchema,
  buildOptionalFields,
} from '../types.ts';

/*
 * The graph configuration file. Every key of the format is described here; `PASSED_OVER` lists those without an effect.
 */

/** Files of JavaScript and TypeScript (`./file.ts:export`), and files and modules of Python (code-place.ts). */
const GraphRef = Type.Unsafe<string | { path: string; description?: string }>({
  type: ['string', 'object'],
  pattern: ':.+$',
  minLength: 3,
  required: ['path'],
  properties: { path: { type: 'string', pattern: ':.+$' }, description: { type: 'string' } },
  additionalProperties: false,
});

/** A file, also without `./` before it, with its export; or the name of a module of Python with its variable. */
const CODE = '^.+:.+$';

const buildStringsSchema = (): TUnsafe<string[]> =>
  Type.Unsafe<string[]>({ type: 'array', items: { type: 'string' } });

/** Modules and names of classes, as LangChain writes them into values that it serialises. */
const CLASS_IDS = {
  type: 'array',
  maxItems: 1000,
  items: { type: 'array', minItems: 2, maxItems: 20, items: { type: 'string', minLength: 1 } },
};
/** Such classes, or any, or none. */
type AllowedClasses = string[][] | boolean;

const Env = Type.Unsafe<string | string[] | Record<string, string>>({
  type: ['string', 'object', 'array'],
  additionalProperties: { type: 'string' },
  items: { type: 'string' },
});

/** Patterns of header names; `*` stands for any part. Both spellings are accepted. */
const HeaderPatterns = buildClosedSchema({
  includes: Type.Optional(buildStringsSchema()),
  excludes: Type.Optional(buildStringsSchema()),
  include: Type.Optional(buildStringsSchema()),
  exclude: Type.Optional(buildStringsSchema()),
});
export type HeaderPatterns = Static<typeof HeaderPatterns>;

export const Cors = buildClosedSchema({
  allow_origins: Type.Optional(buildStringsSchema()),
  allow_methods: Type.Optional(buildStringsSchema()),
  allow_headers: Type.Optional(buildStringsSchema()),
  allow_credentials: Type.Optional(Type.Boolean()),
  allow_origin_regex: Type.Optional(Type.String()),
  expose_headers: Type.Optional(buildStringsSchema()),
  max_age: Type.Optional(Type.Integer()),
});
export type Cors = Static<typeof Cors>;

const Http = buildClosedSchema({
  app: Type.Optional(
    Type.String({
      pattern: `^[./]|${CODE}`,
      description:
        'Your own routes: ./app.ts:app, a Hono application, or ./app.py:app, an ASGI application such as one of FastAPI',
    }),
  ),
  disable_assistants: Type.Optional(Type.Boolean()),
  disable_threads: Type.Optional(Type.Boolean()),
  disable_runs: Type.Optional(Type.Boolean()),
  disable_store: Type.Optional(Type.Boolean()),
  disable_meta: Type.Optional(Type.Boolean()),
  disable_ui: Type.Optional(Type.Boolean()),
  disable_mcp: Type.Optional(Type.Boolean()),
  disable_a2a: Type.Optional(Type.Boolean()),
  disable_ag_ui: Type.Optional(Type.Boolean()),
  disable_webhooks: Type.Optional(Type.Boolean()),
  disable_event_streaming: Type.Optional(Type.Boolean()),
  cors: Type.Optional(Cors),
  mount_prefix: Type.Optional(Type.String({ pattern: '^/' })),
  configurable_headers: Type.Optional(HeaderPatterns),
  logging_headers: Type.Optional(HeaderPatterns),
  enable_custom_route_auth: Type.Optional(Type.Boolean()),
  middleware_order: Type.Optional(buildEnumSchema(['middleware_first', 'auth_first'])),
});

/** `openapi` joins the server's document: security schemes, the requirements by default, and by path. */
const Auth = buildClosedSchema({
  path: Type.String({
    pattern: CODE,
    description:
      'File and export of the handlers: ./auth.ts:auth; in Python also a module: package.auth:auth',
  }),
  disable_studio_auth: Type.Optional(
    Type.Boolean({ description: 'false: passes of the platform are accepted beside the handlers' }),
  ),
  allow_langsmith_api_keys: Type.Optional(Type.Boolean()),
  openapi: Type.Optional(buildFreeFormSchema('securitySchemes, security, paths')),
  cache: Type.Optional(
    buildClosedSchema({
      cache_keys: Type.Unsafe<string[]>({
        type: 'array',
        items: { type: 'string', minLength: 1 },
        minItems: 1,
        maxItems: 20,
      }),
      ttl_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400 })),
      max_size: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
    }),
  ),
});
export type AuthSettings = Static<typeof Auth>;

const Encryption = buildClosedSchema({
  path: Type.String({
    pattern: CODE,
    description:
      'File and export of the handlers that encrypt values in the database: ./encryption.ts:encryption',
  }),
});

const Store = buildClosedSchema({
  path: Type.Optional(Type.String()),
  index: Type.Optional(
    buildClosedSchema({
      dims: Type.Integer({
        minimum: 1,
        maximum: 16_000,
        description: 'Number of dimensions of a vector.',
      }),
      embed: Type.String({
        pattern: '^.+:.+$',
        description: 'File and export of the embedding, ./embed.ts:embed, or provider:model.',
      }),
      fields: Type.Optional(buildStringsSchema()),
    }),
  ),
  ttl: Type.Optional(StoreTtl),
});

const Checkpointer = buildClosedSchema({
  backend: Type.Optional(buildEnumSchema(['default'])),
  path: Type.Optional(Type.String()),
  uri: Type.Optional(Type.String()),
  ttl: Type.Optional(CheckpointerTtl),
  serde: Type.Optional(
    buildClosedSchema({
      allowed_json_modules: Type.Optional(
        Type.Unsafe<AllowedClasses>({ anyOf: [CLASS_IDS, { type: 'boolean' }] }),
      ),
      allowed_msgpack_modules: Type.Optional(
        Type.Unsafe<AllowedClasses | null>({
          anyOf: [CLASS_IDS, { type: 'boolean' }, { type: 'null' }],
          description:
            'Python graphs: the classes, each as its module and its name, that may be restored from stored states; true allows any.',
        }),
      ),
      pickle_fallback: Type.Optional(
        Type.Boolean({
          description:
            "Python graphs: whether values that can't be serialized otherwise are pickled.",
        }),
      ),
    }),
  ),
});

const Webhooks = buildClosedSchema({
  ...buildOptionalFields({
    env_prefix: Type.String({ minLength: 1 }),
    headers: buildMapSchema(Type.String(), { maxProperties: 100 }),
    url: buildClosedSchema({
      require_https: Type.Optional(Type.Boolean()),
      // A name may begin with `*.` for all domains below it.
      allowed_domains: Type.Optional(
        Type.Unsafe<string[]>({
          type: 'array',
          items: { type: 'string', pattern: '^(\\*\\.)?[^*/:]+$' },
          minItems: 1,
          maxItems: 1000,
        }),
      ),
      allowed_ports: Type.Optional(
        Type.Array(Type.Integer({ minimum: 1, maximum: 65_535 }), { minItems: 1, maxItems: 1000 }),
      ),
      max_url_length: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_536 })),
      disable_loopback: Type.Optional(Type.Boolean()),
      disable_private_ips: Type.Optional(Type.Boolean()),
    }),
    allowed_fields: Type.Unsafe<string[]>({
      type: 'array',
      items: { type: 'string', minLength: 1 },
      minItems: 1,
      maxItems: 100,
    }),
  }),
});
export type WebhookSettings = Static<typeof Webhooks>;

const buildPriceSchema = (of: string) =>
  Type.Number({ minimum: 0, maximum: 1_000_000, description: `US dollars for a million ${of}.` });

/** The price of a model's tokens. A part that is absent costs as much as the whole that it is of. */
export const OwnPrices = buildClosedSchema({
  input: buildPriceSchema('tokens of prompts'),
  output: buildPriceSchema('tokens of answers'),
  ...buildOptionalFields({
    cache_read: buildPriceSchema('tokens that a cache of the provider had'),
    cache_write: buildPriceSchema('tokens that are written to a cache'),
    cache_write_1h: buildPriceSchema('tokens that are written to a cache for an hour'),
    audio_in: buildPriceSchema('tokens of sound in prompts'),
    audio_out: buildPriceSchema('tokens of sound in answers'),
    reasoning: buildPriceSchema('tokens of reasoning'),
  }),
});

const Usage = buildClosedSchema({
  prices: Type.Optional(buildMapSchema(OwnPrices, { maxProperties: 1000 })),
  models: Type.Optional(buildMapSchema(Type.String({ minLength: 1 }), { maxProperties: 1000 })),
});
export type UsageSettings = Static<typeof Usage>;

export const GxJson = buildClosedSchema({
  $schema: Type.Optional(Type.String()),
  graphs: buildMapSchema(GraphRef, { maxProperties: 1000, minProperties: 1 }),
  env: Type.Optional(Env),
  node_version: Type.Optional(Type.String()),
  node_loader: Type.Optional(Type.String()),
  python_version: Type.Optional(Type.String()),
  pip_config_file: Type.Optional(Type.String()),
  pip_installer: Type.Optional(Type.String()),
  dependencies: Type.Optional(buildStringsSchema()),
  source: Type.Optional(buildFreeFormSchema('Python builds only')),
  keep_pkg_tools: Type.Optional(Type.Unsafe<unknown>({})),
  priority: Type.Optional(
    buildFreeFormSchema('Not served: runs begin in the order of their requests'),
  ),
  dockerfile: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'Your own Dockerfile, from the folder of this file; its context is the whole repository.',
    }),
  ),
  dockerfile_lines: Type.Optional(buildStringsSchema()),
  docker_compose_file: Type.Optional(Type.String()),
  base_image: Type.Optional(Type.String()),
  image_distro: Type.Optional(Type.String()),
  api_version: Type.Optional(Type.String()),
  _INTERNAL_docker_tag: Type.Optional(Type.String()),
  auth: Type.Optional(Auth),
  http: Type.Optional(Http),
  store: Type.Optional(Store),
  checkpointer: Type.Optional(Checkpointer),
  encryption: Type.Optional(Encryption),
  webhooks: Type.Optional(Webhooks),
  usage: Type.Optional(Usage),
  budgets: Type.Optional(BudgetList),
  ui: Type.Optional(buildMapSchema(Type.String({ minLength: 1 }), { maxProperties: 1000 })),
  ui_config: Type.Optional(buildClosedSchema({ shared: Type.Optional(buildStringsSchema()) })),
});
export type GxJson = Static<typeof GxJson>;

/** Returns the value at a dotted key; undefined when it is absent. */
export function getDottedValue(settings: unknown, key: string): unknown {
  return key
    .split('.')
    .reduce<unknown>(
      (value, part) => (value as Record<string, unknown> | null | undefined)?.[part],
      settings,
    );
}

/** A key or a variable without an effect, and its replacement. */
export type PassedOver = { name: string; instead: string };

const IN_DOCKERFILE = 'write it in the Dockerfile that begins with FROM gx-agent-server';
const IN_BUILD =
  'builds from git and build-agent do it; elsewhere write it in the Dockerfile that begins with FROM gx-agent-server';
const INSTALLED =
  'builds from git follow it; elsewhere the Dockerfile installs the packages of Python, where the interpreter finds them';
const IN_DATABASE = "checkpoints are kept in the server's database";
const ITEMS_IN_DATABASE =
  "items of the store are kept in the server's database, which offers semantic search if store.index configures it";

/** Keys that other tools read when they build an image, and their replacements here. */
export const PASSED_OVER: Readonly<Record<string, string>> = {
  node_version:
    'the tag of the image gx-agent-server decides about Node; package.json may ask for a version in "engines"',
  node_loader: 'tsx loads the graphs, and tsconfig.json configures it',
  python_version:
    'GX_PYTHON names the interpreter; without it, the virtual environment decides, or python3; builds from git check it',
  pip_config_file: INSTALLED,
  pip_installer: 'builds from git install by uv, and so does the image gx-agent-server-python',
  dependencies:
    'folders are on the path of modules of Python; packages are installed by builds from git, and elsewhere by you; package.json says what JavaScript has',
  source: INSTALLED,
  keep_pkg_tools:
    'the server removes no packages; the image gx-agent-server-python has uv, and neither pip nor setuptools',
  dockerfile: IN_BUILD,
  dockerfile_lines: IN_BUILD,
  docker_compose_file: 'resource_spec.sidecars of the deployment runs containers beside the server',
  base_image: IN_BUILD,
  image_distro: IN_DOCKERFILE,
  api_version: 'the tag of the image gx-agent-server decides about the version of the server',
  'checkpointer.path': `${IN_DATABASE}; import-threads moves those of a saver of your own`,
  'checkpointer.uri': `${IN_DATABASE}; POSTGRES_URI_CUSTOM of a deployment names another one`,
  'store.path': ITEMS_IN_DATABASE,
  priority:
    'runs begin in the order of their requests; multitask_strategy and after_seconds of a run change when it begins',
  'auth.allow_langsmith_api_keys': 'auth.path decides who may call; let it check such keys',
  _INTERNAL_docker_tag:
    'the tag of the image gx-agent-server decides about the version of the server',
};

/** Keys of files for other servers that are none of the format, and their replacements here. `*` is any name. */
export const KEYS_OF_OTHERS: Readonly<Record<string, string>> = {
  package_manager:
    'builds from git use the package manager of the lock file, and gx dev the installed packages',
  recursion_limit:
    'config.recursion_limit of an assistant or a run sets it, or .with_config() of the graph',
  'checkpointer.backend': IN_DATABASE,
  'checkpointer.durability': 'durability of a run decides it',
  'store.provider': ITEMS_IN_DATABASE,
  'store.scopes': 'a handler of @auth.on.store may put the caller before the namespace',
  'graphs.*.config_schema': 'the graph itself says what its config holds, as its context_schema',
  'graphs.*.name': 'the key of the graph is its name',
};

/** Values that say what happens here anyway. */
const AS_HERE: Readonly<Record<string, readonly unknown[]>> = {
  node_loader: ['tsx'],
  dependencies: [['.']],
  pip_installer: ['auto', 'uv'],
  image_distro: ['debian', 'bookworm'],
  keep_pkg_tools: [false],
  'auth.allow_langsmith_api_keys': [false],
};

/** Keys that have no effect on graphs in JavaScript. */
const OF_PYTHON: Readonly<Record<string, string>> = {
  'checkpointer.serde.allowed_msgpack_modules':
    'checkpoints of JavaScript are JSON; allowed_json_modules says what they may hold',
  'checkpointer.serde.pickle_fallback':
    'checkpoints of JavaScript are JSON; Python objects are not read',
};

type Place = {
  python: boolean;
  node: string;
};

/** Returns the keys of settings that have no effect here. */
export const listIgnoredKeys = (settings: object, place: Place): PassedOver[] =>
  Object.entries(place.python ? PASSED_OVER : { ...PASSED_OVER, ...OF_PYTHON })
    .filter(([name]) => {
      const value = getDottedValue(settings, name);
      return value !== undefined && !isEmpty(value) && !isAsHere(name, value, place);
    })
    .map(([name, instead]) => ({ name, instead }));

/** An empty value asks for nothing. */
const isEmpty = (value: unknown): boolean =>
  value === '' || (typeof value === 'object' && Object.keys(value ?? {}).length === 0);

function isAsHere(name: string, value: unknown, { python, node }: Place): boolean {
  if ((AS_HERE[name] ?? []).some((known) => JSON.stringify(known) === JSON.stringify(value)))
    return true;
  // Projects name the Node of their time, which a newer one replaces.
  if (name === 'node_version') return Number.parseInt(String(value)) <= Number.parseInt(node);
  return name === 'dependencies' && python && (value as string[]).every(isFolder);
}

/** Returns whether an entry of `dependencies` is a folder of the repository. */
export const isFolder = (name: string): boolean => /^\.{0,2}(\/|$)/.test(name);
