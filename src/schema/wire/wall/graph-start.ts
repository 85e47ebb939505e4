import { Type, type Static } from 'typebox';
import { LANGUAGES } from '../../agent/code-place.ts';
import { buildEnumSchema } from '../../types.ts';
import {
  CipherModule,
  buildOptionalSchema,
  ModuleExport,
  buildNullUnionSchema,
  Variables,
} from './forms.ts';

/* The configuration that a thread needs to run graphs. */

const GraphSource = Type.Object({
  graphId: Type.String(),
  language: buildEnumSchema(LANGUAGES),
  /** An absolute path, or the dotted name of a Python module, which has no slash. */
  file: Type.String(),
  exportName: Type.String(),
  description: buildNullUnionSchema(Type.String()),
});
export type GraphSource = Static<typeof GraphSource>;

/** An embedding of a provider, as gx.json names it: `provider:model`. `folder` is the one of gx.json. */
const EmbedModel = Type.Object({
  provider: Type.String(),
  model: Type.String(),
  folder: Type.String(),
});
export type EmbedModel = Static<typeof EmbedModel>;

/** `store.index` of gx.json. */
const StoreIndex = Type.Object({
  /** The language whose runners make texts into vectors. */
  language: buildEnumSchema(LANGUAGES),
  embed: Type.Union([ModuleExport, EmbedModel]),
  dims: Type.Integer(),
  fields: Type.Array(Type.String()),
});
export type StoreIndex = Static<typeof StoreIndex>;

/** How long items of the store live that say nothing themselves, in minutes, and whether reading renews them. */
const StoreLife = Type.Object({
  defaultTtl: buildNullUnionSchema(Type.Number()),
  refresh: Type.Boolean(),
});
export type StoreLife = Static<typeof StoreLife>;

/** How values are encrypted in the database: keys as base64, and names of fields that are encrypted. */
const Encryption = Type.Object({
  keys: Type.Array(Type.String()),
  encrypts: Type.Boolean(),
  names: Type.Array(Type.String()),
  strict: Type.Optional(Type.Boolean()),
});

const Classes = Type.Union([Type.Boolean(), Type.Array(Type.Array(Type.String()))]);

/** `checkpointer.serde` of gx.json: the settings of LangGraph's serializer in Python. */
const Serde = Type.Object({
  allowed_json_modules: buildOptionalSchema(Classes),
  allowed_msgpack_modules: buildOptionalSchema(buildNullUnionSchema(Classes)),
  pickle_fallback: buildOptionalSchema(Type.Boolean()),
});

/**
 * Settings for a developer's machine: the runner logs code that holds the event loop for longer than so many
 * milliseconds, and a debugger may attach at the port.
 */
export const Development = Type.Object({
  blockingMilliseconds: buildOptionalSchema(Type.Integer()),
  debugPort: buildOptionalSchema(Type.Integer()),
});

const ofAnyRunner = {
  graphs: Type.Array(GraphSource),
  /** Whether the other graphs are served when some can't be loaded. */
  partial: Type.Boolean(),
  logLevel: Type.String(),
  logFields: buildOptionalSchema(Variables),
  env: Variables,
  prettyLog: buildOptionalSchema(Type.Boolean()),
  spanContents: buildOptionalSchema(Type.Boolean()),
  sendsLog: Type.Boolean(),
  /** How items of the store are indexed by meaning; absent when gx.json asks for none. */
  index: buildOptionalSchema(StoreIndex),
  /** Absent when items of the store live forever. */
  storeLife: buildOptionalSchema(StoreLife),
  /** The event loops that runs of Python are spread over; absent where they share one. */
  isolatedLoops: buildOptionalSchema(Type.Integer()),
  serde: buildOptionalSchema(Serde),
  development: buildOptionalSchema(Development),
};

/**
 * How a runner in another process is started: its command, the folder that it works in, variables of its own, and the
 * megabytes beyond which it is ended.
 */
const RunnerCommand = Type.Object({
  command: Type.Array(Type.String()),
  folder: buildOptionalSchema(Type.String()),
  variables: buildOptionalSchema(Variables),
  megabytes: buildOptionalSchema(Type.Integer()),
});
export type RunnerCommand = Static<typeof RunnerCommand>;

/** The configuration of a runner in another process, which stores by messages. `index` is there where it embeds. */
export const RunnerStart = Type.Object(ofAnyRunner);

export const ThreadStart = Type.Object({
  ...ofAnyRunner,
  /** The process that runs the graphs; absent where the thread runs them itself. */
  runner: buildOptionalSchema(RunnerCommand),
  /** The thread opens a pool of its own: runs read and write their checkpoints there. */
  database: Type.Object({
    uri: Type.String(),
    poolSize: Type.Integer(),
    statementTimeoutSeconds: Type.Number(),
  }),
  /** How the thread encrypts and decrypts stored values; absent where nothing is encrypted. */
  encryption: buildOptionalSchema(Encryption),
  /** The module that encrypts, where the thread itself can run it. */
  encryptionModule: buildOptionalSchema(CipherModule),
  /** The thread asks the server, whose module encrypts or only decrypts; absent where it need not. */
  askedCipher: buildOptionalSchema(Type.Object({ encrypts: Type.Boolean() })),
  /** Ids of classes, beyond messages, that may be made from the values of a state. */
  allowedModules: buildOptionalSchema(Type.Array(Type.Array(Type.String()))),
});
export type ThreadStart = Static<typeof ThreadStart>;
