import { Type, type Static } from 'typebox';
import { buildJsonObjectSchema } from '../../agent/agent-types.ts';
import { StoreNamespaces, StoreSearch } from '../../agent/store-item.ts';
import { buildEnumSchema } from '../../types.ts';
import {
  Bytes,
  buildJsonTextSchema,
  buildOptionalSchema,
  buildMessageSchema,
  buildNullUnionSchema,
} from './forms.ts';
import { RunnerStart } from './graph-start.ts';
import { FromAnyRunner, ToAnyRunner } from './graphs.ts';
import { Call } from './operations.ts';

/*
 * The messages between a runner in another process and the thread that stores for it. They are those of a graph thread
 * (graphs.ts), by the same rules, but for these.
 *
 * Start. `start` has neither the database nor a key: the runner stores by messages. Frames (frames.ts) go over the
 * runner's file descriptor 3. Its end, on either side, is the end of the runner: whatever it has not sent is lost, and
 * it must exit at once, because the run may be another worker's by then.
 *
 * Life. `beat` says by how much the work in the runner is late, in milliseconds. A runner that is too late counts as
 * stuck, as one that is silent.
 *
 * Steps. `put` stores a checkpoint and `writes` the writes of a task on one, in the order in which they are sent; one
 * of a run joins its others and is dropped when the run is over, and one without a run is a state that is written by
 * hand. A value is its type and its bytes; the type has a colon, before which stands the language. A write is not
 * acknowledged, unless an `ask_id` asks for `saved`. A `done` is passed on once all that the run has put is stored.
 * There is neither `wait` nor `written`: events that come before a checkpoint are where others find them before it is
 * stored.
 *
 * Lists. A value that is a list may be put as the elements that it adds to a version which the runner knows. Its type
 * is then that of each element. `found` has the rows of the lists of all of its checkpoints, down to whole ones. Those
 * that the runner names as `known`, each as its channel and version on two lines, are left out.
 *
 * Questions. Each `ask_id` gets one answer, in any order: `saved`, `found` with checkpoints, newest first, `begun`,
 * `results`, or `refused` with an HTTP status and a sentence. An answer holds all that was put for the thread before.
 * Before an attempt after the first calls the graph, it asks `begin`; where `begun` says false, another worker has the
 * run, and its `done` says `lost`.
 *
 * Upkeep. `delete_thread`, `delete_runs`, `copy_thread` and `prune` change checkpoints alone, not the records of
 * threads and runs. The last three are refused with 409 for a thread whose checkpoints a run under way may write. So is
 * a copy to a thread that has checkpoints.
 */

const ask_id = Type.Integer();
const run_id = buildNullUnionSchema(Type.String());

const at = { thread_id: Type.String(), namespace: Type.String(), checkpoint_id: Type.String() };

const Value = { channel: Type.String(), type: Type.String(), blob: Bytes };

/**
 * How a list is stored as the elements that it adds to another version of its channel, its base. A part is elements of
 * the base from one number to another, both included, or the lengths of new ones, whose bytes follow each other.
 */
const ListChange = {
  base: buildNullUnionSchema(Type.String()),
  /** Rows between this one and the last that sums up: 0 where this one does. */
  steps: Type.Integer(),
  /** Elements and rows that a reader of this version reads. */
  stored: Type.Integer(),
  parts: Type.Array(
    Type.Union([
      Type.Tuple([Type.Integer(), Type.Integer()]),
      Type.Object({ new: Type.Array(Type.Integer()) }),
    ]),
  ),
};

const FoundList = Type.Object({
  namespace: Type.String(),
  channel: Type.String(),
  version: Type.String(),
  ...ListChange,
  blob: Bytes,
});

const FoundCheckpoint = Type.Object({
  ...at,
  parent: buildNullUnionSchema(Type.String()),
  checkpoint: buildJsonObjectSchema('The checkpoint, without the values of its channels.'),
  metadata: buildJsonObjectSchema('Its metadata.'),
  /** JSON that a graph of another language has stored has the type `json`. A list has a version, made of its rows. */
  values: Type.Array(
    Type.Union([
      Type.Object(Value),
      Type.Object({
        channel: Type.String(),
        type: Type.String(),
        version: Type.String(),
        base: buildNullUnionSchema(Type.String()),
      }),
    ]),
  ),
  writes: Type.Array(Type.Object({ task_id: Type.String(), ...Value })),
});
export type FoundCheckpoint = Static<typeof FoundCheckpoint>;

/** The context that the message's work has, from the run or the call that it belongs to. */
const context = buildOptionalSchema(
  buildJsonObjectSchema('The context of values that are encrypted.'),
);

const itemKey = { namespace: Type.Array(Type.String()), key: Type.String() };

/** An operation of the store. Its result is that of the same route of the public interface. */
export const StoreOperation = Type.Union([
  /** `refresh` says whether the item lives on by this; absent, as gx.json says. */
  Type.Object({
    does: Type.Literal('get'),
    ...itemKey,
    refresh: buildOptionalSchema(Type.Boolean()),
  }),
  /** `ttl` are minutes, or null for an item that lives forever; absent, as gx.json says. */
  Type.Object({
    does: Type.Literal('put'),
    ...itemKey,
    value: buildJsonObjectSchema('The value to keep.'),
    index: Type.Optional(Type.Unknown()),
    ttl: buildOptionalSchema(buildNullUnionSchema(Type.Number())),
  }),
  Type.Object({ does: Type.Literal('delete'), ...itemKey }),
  Type.Object({ does: Type.Literal('search'), search: StoreSearch }),
  Type.Object({ does: Type.Literal('namespaces'), search: StoreNamespaces }),
]);
export type StoreOperation = Static<typeof StoreOperation>;

const Answers = Type.Union([
  buildMessageSchema('saved', { ask_id }),
  buildMessageSchema('found', {
    ask_id,
    lists: buildOptionalSchema(Type.Array(FoundList)),
    checkpoints: Type.Array(FoundCheckpoint),
  }),
  buildMessageSchema('begun', { ask_id, begins: Type.Boolean() }),
  buildMessageSchema('results', { ask_id, json: buildJsonTextSchema<unknown>() }),
  buildMessageSchema('refused', { ask_id, status: Type.Integer(), message: Type.String() }),
]);
export type RunnerAnswer = Static<typeof Answers>;

export const ToRunner = Type.Union([
  buildMessageSchema('start', { version: Type.String(), start: RunnerStart }),
  ToAnyRunner,
  Call,
  Answers,
]);
export type ToRunner = Static<typeof ToRunner>;

/** A checkpoint to be stored. `values` are those that are new in it, by the versions that the checkpoint names. */
const RunnerPut = buildMessageSchema('put', {
  ask_id: buildOptionalSchema(ask_id),
  context,
  run_id,
  ...at,
  parent: buildNullUnionSchema(Type.String()),
  step: buildOptionalSchema(Type.Integer()),
  checkpoint: buildJsonObjectSchema('The checkpoint, without the values of its channels.'),
  metadata: buildJsonObjectSchema('Its metadata.'),
  settings: buildOptionalSchema(
    buildJsonObjectSchema(
      'Settings of the run ("configurable") that are kept with its metadata, unless all is encrypted.',
    ),
  ),
  values: Type.Array(
    Type.Object({
      version: Type.String(),
      ...Value,
      list: buildOptionalSchema(Type.Object(ListChange)),
    }),
  ),
});
export type RunnerPut = Static<typeof RunnerPut>;

/** Errors and interrupts `replace` the writes in their places. */
const RunnerWrites = buildMessageSchema('writes', {
  ask_id: buildOptionalSchema(ask_id),
  context,
  run_id,
  ...at,
  task_id: Type.String(),
  path: Type.String(),
  replace: Type.Boolean(),
  writes: Type.Array(Type.Object({ index: Type.Integer(), ...Value })),
});
export type RunnerWrites = Static<typeof RunnerWrites>;

const RunnerQuestion = Type.Union([
  buildMessageSchema('read', {
    ask_id,
    thread_id: Type.String(),
    namespace: buildOptionalSchema(Type.String()),
    checkpoint_id: buildOptionalSchema(Type.String()),
    before: buildOptionalSchema(Type.String()),
    metadata: buildOptionalSchema(
      buildJsonObjectSchema('Part of the metadata of the checkpoints.'),
    ),
    limit: buildOptionalSchema(Type.Integer()),
    known: buildOptionalSchema(Type.Array(Type.String())),
  }),
  buildMessageSchema('begin', { ask_id, run_id: Type.String(), attempt: Type.Integer() }),
  buildMessageSchema('store', { ask_id, operation: StoreOperation, context }),
  buildMessageSchema('delete_thread', { ask_id, thread_id: Type.String() }),
  buildMessageSchema('delete_runs', { ask_id, run_ids: Type.Array(Type.String()) }),
  buildMessageSchema('copy_thread', { ask_id, from: Type.String(), to: Type.String() }),
  buildMessageSchema('prune', {
    ask_id,
    thread_ids: Type.Array(Type.String()),
    strategy: buildEnumSchema(['keep_latest', 'delete']),
  }),
]);
export type RunnerQuestion = Static<typeof RunnerQuestion>;

export const FromRunner = Type.Union([
  FromAnyRunner,
  buildMessageSchema('beat', { full: Type.Boolean(), late: Type.Number() }),
  RunnerPut,
  RunnerWrites,
  RunnerQuestion,
]);
export type FromRunner = Static<typeof FromRunner>;
