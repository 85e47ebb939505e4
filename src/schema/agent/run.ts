import { Type, type Static, type TUnsafe } from 'typebox';
import {
  buildAnySchema,
  buildCheckpointConfigSchema,
  buildEitherSchema,
  buildGraphConfigSchema,
  buildJsonObjectSchema,
  buildLimitSchema,
  buildMetadataSchema,
  buildOffsetSchema,
} from './agent-types.ts';
import { STREAM_MODES, type StreamMode } from './stream-event.ts';
import {
  buildDateTimeSchema,
  buildNullableSchema,
  buildEnumSchema,
  buildUuidSchema,
  buildNullableFields,
  buildOptionalFields,
} from '../types.ts';
import { RunBudget } from './budget.ts';
import { UsageSums } from './usage.ts';
import type { Json } from '../json.ts';

export const RUN_STATUSES = ['pending', 'running', 'success', 'error', 'interrupted'] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

export const isUnfinished = (status: RunStatus): boolean =>
  status === 'pending' || status === 'running';

/** Why a run failed: the error's name, and its message. */
export const RunError = Type.Object({
  error: Type.String(),
  message: Type.String(),
  stack: Type.Optional(Type.String({ description: 'Where it failed. Only `gx dev` sends it' })),
});
export type RunError = Static<typeof RunError>;

const NAMES_BY_STATUS: Readonly<Record<number, string>> = {
  400: 'BadRequestError',
  401: 'AuthenticationError',
  403: 'PermissionDeniedError',
  404: 'NotFoundError',
  409: 'ConflictError',
  422: 'UnprocessableEntityError',
  429: 'RateLimitError',
};

/** Returns the name of a run's error where the server refuses something in it: that of langgraph_sdk for the status. */
export const chooseRefusalName = (status: number): string =>
  NAMES_BY_STATUS[status] ?? (status < 500 ? 'APIStatusError' : 'InternalServerError');

export const STRATEGIES = ['reject', 'interrupt', 'rollback', 'enqueue'] as const;
export type MultitaskStrategy = (typeof STRATEGIES)[number];

const Words = Type.Unsafe<string[]>({ type: 'array', items: { type: 'string' } });

const buildNodeListSchema = (): TUnsafe<'*' | string[] | null> =>
  Type.Unsafe<'*' | string[] | null>({
    anyOf: [{ type: 'string', enum: ['*', null], nullable: true }, Words],
    nullable: true,
    type: ['string', 'array'],
    description:
      'Names of nodes of the graph itself, not of its subgraphs; "*", alone or in the list, is every node. Other names are ignored.',
  });

const GotoTarget = {
  type: ['string', 'object'],
  nullable: true,
  required: ['node'],
  properties: { node: { type: 'string' }, input: {} },
  description: 'A node, or a node with an input of its own.',
};

const buildCommandSchema = (): TUnsafe<Json | null> =>
  Type.Unsafe<Json | null>({
    type: 'object',
    nullable: true,
    description:
      'Takes the place of input: resume an interrupt, update the state, or go to a node.',
    properties: {
      update: {
        type: ['object', 'array'],
        nullable: true,
        description: 'As a node would return it, or a list of [channel, value].',
      },
      resume: { description: 'The answer to an interrupt, or interrupt id -> answer.' },
      goto: {
        anyOf: [GotoTarget, { type: 'array', items: GotoTarget }],
        nullable: true,
        type: ['string', 'object', 'array'],
      },
    },
  });

const StreamModes = buildEitherSchema<StreamMode | StreamMode[] | null>(
  buildNullableSchema(buildEnumSchema(STREAM_MODES)),
  Type.Unsafe({ type: 'array', items: { type: 'string', enum: [...STREAM_MODES] } }),
  'Kinds of events to stream.',
);

/** A hundred years in seconds, so that every date has a year of four digits, which clients can read. */
const LONGEST_DELAY = 3_155_760_000;

const fields = {
  assistant_id: Type.String({ minLength: 1, description: 'An assistant, or the name of a graph.' }),
  assistant_version: Type.Optional(
    buildNullableSchema(
      Type.Integer({
        minimum: 1,
        maximum: 2_147_483_647,
        description: 'The version of the assistant to run, instead of its newest one.',
      }),
    ),
  ),
  input: Type.Optional(
    buildAnySchema(
      'Input of the graph; null continues from the last checkpoint. A command takes its place.',
    ),
  ),
  command: Type.Optional(buildCommandSchema()),
  checkpoint: Type.Optional(buildCheckpointConfigSchema()),
  checkpoint_id: Type.Optional(buildNullableSchema(Type.String())),
  metadata: Type.Optional(buildNullableSchema(buildMetadataSchema())),
  config: Type.Optional(buildNullableSchema(buildGraphConfigSchema())),
  context: Type.Optional(
    buildNullableSchema(buildJsonObjectSchema('Static context of the graph.')),
  ),
  webhook: Type.Optional(
    buildNullableSchema(
      Type.String({
        minLength: 1,
        maxLength: 65_536,
        description: 'The URL to which the end of the run is sent, by POST.',
      }),
    ),
  ),
  interrupt_before: Type.Optional(buildNodeListSchema()),
  interrupt_after: Type.Optional(buildNodeListSchema()),
  stream_mode: Type.Optional(
    Type.Unsafe<StreamMode | StreamMode[] | null>({
      ...StreamModes,
      nullable: true,
      type: ['string', 'array'],
    }),
  ),
  ...buildNullableFields({
    stream_subgraphs: Type.Boolean(),
    stream_resumable: Type.Boolean(),
    feedback_keys: Type.Array(Type.String({ minLength: 1, maxLength: 180 }), { maxItems: 100 }),
    multitask_strategy: buildEnumSchema(STRATEGIES),
    if_not_exists: buildEnumSchema(['create', 'reject'], {
      description: 'Whether a run on a missing thread creates it.',
    }),
    on_not_exist: buildEnumSchema(['create', 'reject'], {
      description: 'Another name for if_not_exists.',
    }),
    on_completion: buildEnumSchema(['delete', 'keep'], {
      description: 'Whether to delete or keep a thread that was made for this run alone.',
    }),
    on_disconnect: buildEnumSchema(['cancel', 'continue'], {
      description:
        'Whether the run is cancelled when the client that waits for it or streams it disconnects.',
    }),
    after_seconds: Type.Number({ minimum: 0, maximum: LONGEST_DELAY }),
    checkpoint_during: Type.Boolean(),
    durability: buildEnumSchema(['sync', 'async', 'exit']),
    budget: RunBudget,
    strict_resume: Type.Boolean({
      description: 'Refuses a resume with 409 if its interrupt does not wait for an answer.',
    }),
    langsmith_tracer: buildJsonObjectSchema(
      "Ignored: it names a project of one vendor's tracing; traces go where the server sends them.",
    ),
  }),
};

export const RunCreate = Type.Object(fields);
export type RunCreate = Static<typeof RunCreate>;

export const RunBatch = Type.Array(RunCreate, { minItems: 1 });

const WebhookStatus = Type.Object(
  {
    state: buildEnumSchema(['pending', 'sent', 'failed', 'skipped'], {
      description: 'pending: not sent yet; skipped: the server sends none.',
    }),
    attempts: Type.Integer(),
    last_error: buildNullableSchema(Type.String({ description: 'Why the last attempt failed.' })),
    withheld_headers: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'Names of webhooks.headers that did not go along, because webhooks.url.allowed_domains lists no host.',
      }),
    ),
  },
  { description: "The state of the run's webhook." },
);
export type WebhookStatus = Static<typeof WebhookStatus>;

export const Run = Type.Object({
  run_id: buildUuidSchema(''),
  thread_id: buildUuidSchema(''),
  assistant_id: buildUuidSchema(''),
  created_at: buildDateTimeSchema('The time of creation plus the requested delay.'),
  updated_at: buildDateTimeSchema(''),
  status: buildEnumSchema(RUN_STATUSES),
  metadata: buildMetadataSchema(),
  kwargs: buildJsonObjectSchema('The request that made the run.'),
  multitask_strategy: buildEnumSchema(STRATEGIES),
  webhook_status: buildNullableSchema(WebhookStatus),
  attempt: Type.Integer({
    minimum: 0,
    description: 'How often the run was begun; 0 while it waits to begin.',
  }),
  revision: buildNullableSchema(
    Type.String({
      description:
        'The revision of the agent to which the run is pinned; null if any revision may execute it.',
    }),
  ),
  usage: buildNullableSchema(UsageSums),
});
export type Run = Static<typeof Run>;

const RUN_FIELDS = Object.keys(Run.properties) as (keyof Run)[];

export const RunsQuery = Type.Object({
  limit: buildLimitSchema(10),
  offset: buildOffsetSchema(),
  // Clients know `timeout`, too. A run that takes too long ends as `error`, so none is found by it.
  status: Type.Optional(buildEnumSchema([...RUN_STATUSES, 'timeout'])),
  select: Type.Optional(Type.Array(buildEnumSchema(RUN_FIELDS))),
});

export const CancelQuery = Type.Object({
  wait: Type.Optional(Type.Boolean()),
  action: Type.Optional(
    buildEnumSchema(['interrupt', 'rollback', 'cancel'], {
      description: 'How to end the run; cancel means interrupt.',
    }),
  ),
});

export const CancelManyQuery = Type.Object({ action: CancelQuery.properties.action });

export const CancelMany = Type.Object({
  status: Type.Optional(buildEnumSchema(['pending', 'running', 'all'])),
  thread_id: Type.Optional(buildUuidSchema('')),
  run_ids: Type.Optional(Type.Array(buildUuidSchema(''), { minItems: 1 })),
});

const namespaces = {
  namespace: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Only events of these graphs of the run; "" is the root graph.',
    }),
  ),
};

export const JoinQuery = Type.Object({
  cancel_on_disconnect: Type.Optional(
    Type.Boolean({
      description:
        'Stops the run when the client disconnects; needs the same permission as cancelling it.',
    }),
  ),
  stream_mode: Type.Optional(Type.Array(Type.String())),
  ...namespaces,
});

export const StreamQuery = Type.Object(namespaces);

const Free = buildJsonObjectSchema('Free-form; the server does not define its fields.');
const Nodes = Type.Union([Type.Literal('*'), Type.Array(Type.String()), Type.Null()]);

export const RunKwargs = Type.Object({
  input: Type.Unknown(),
  command: Type.Union([Free, Type.Null()]),
  config: Free,
  /** Null in runs of an earlier release: no context was given. */
  context: Type.Union([Free, Type.Null()]),
  /** Names of settings that came as `context`. Checkpoints and events leave them out, because they may be secrets. */
  unshown: Type.Optional(Type.Array(Type.String())),
  stream_mode: Type.Array(buildEnumSchema(STREAM_MODES)),
  interrupt_before: Nodes,
  interrupt_after: Nodes,
  webhook: Type.Union([Type.String(), Type.Null()]),
  feedback_keys: Type.Union([Type.Array(Type.String()), Type.Null()]),
  temporary: Type.Boolean(),
  /** True on a temporary run whose thread stays, with its checkpoint, where the run waits for an answer. */
  keeps_waiting: Type.Optional(Type.Literal(true)),
  /** True on a temporary run whose request waits for it and has an `Idempotency-Key`: its result outlives it. */
  repeatable: Type.Optional(Type.Literal(true)),
  /** The version of the assistant whose config and context the run took. */
  assistant_version: Type.Optional(Type.Integer()),
  subgraphs: Type.Boolean(),
  resumable: Type.Boolean(),
  /** True on runs that commands of event streaming started, which report in that protocol's events. */
  protocol: Type.Optional(Type.Literal(true)),
  /** Ids of the questions that were open when the input came that the command brings as their answer. */
  answers: Type.Optional(Type.Array(Type.String())),
  /** The context under which `encryption.path` encrypts the run's values. */
  encryption_context: Type.Optional(Free),
  /** The budget that the request gave it. */
  budget: Type.Optional(RunBudget),
  /** Whether it goes on with the thread's chain of runs, whose budgets count, or begins another one. */
  budget_chain: Type.Optional(buildEnumSchema(['goes_on', 'ends'])),
  /** The answer that it brings to the question of a budget. */
  budget_answer: Type.Optional(
    Type.Object({
      decision: buildEnumSchema(['raise', 'stop']),
      ...buildOptionalFields({
        /** The budget of the chain that is raised, and its new bound in parts of its unit. */
        key: Type.String(),
        to: Type.Number(),
        /** True where models without a price may be called from now on. */
        unpriced: Type.Boolean(),
      }),
    }),
  ),
  /** W3C's `traceparent` and `tracestate` of the request that made the run, where both are traced. */
  trace: Type.Optional(
    Type.Object({ traceparent: Type.String(), tracestate: Type.Optional(Type.String()) }),
  ),
  checkpoint_during: Type.Union([Type.Boolean(), Type.Null()]),
  durability: buildEnumSchema(['sync', 'async', 'exit']),
});
export type RunKwargs = Static<typeof RunKwargs>;
