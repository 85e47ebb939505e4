import { Type, type Static } from 'typebox';
import { buildJsonObjectSchema } from '../../agent/agent-types.ts';
import { buildOptionalSchema, buildMessageSchema, buildNullUnionSchema } from './forms.ts';
import type { DeclaredSchemas, ThreadState, WrittenState } from './graph-answers.ts';
import type { Json } from '../../json.ts';

/* The operations of a graph thread. */

const ofGraph = { graph_id: Type.String() };

/**
 * A question about a thread. Without a checkpoint, it is about the thread's last state. `made_with` is the
 * configuration that a function makes the graph from, where it makes one for each call.
 */
const ofThread = {
  ...ofGraph,
  thread_id: Type.String(),
  checkpoint: buildOptionalSchema(
    buildNullUnionSchema(buildJsonObjectSchema('A checkpoint of the thread.')),
  ),
  made_with: buildOptionalSchema(
    buildJsonObjectSchema('The configuration that the graph is made with.'),
  ),
};

/** Operation -> its arguments. */
const ARGS = {
  state: Type.Object({
    ...ofThread,
    subgraphs: buildOptionalSchema(buildNullUnionSchema(Type.Boolean())),
  }),
  /**
   * Earlier states, newest first. `before` is a checkpoint or its id; `metadata` must be contained in the checkpoint's.
   */
  history: Type.Object({
    ...ofThread,
    limit: Type.Integer(),
    before: Type.Optional(Type.Unknown()),
    metadata: buildOptionalSchema(
      buildNullUnionSchema(buildJsonObjectSchema('Part of the metadata of the checkpoints.')),
    ),
  }),
  /** Writes state as a node would. The caller holds the thread meanwhile, so that no run begins on it. */
  update: Type.Object({
    ...ofThread,
    values: Type.Optional(Type.Unknown()),
    as_node: buildOptionalSchema(buildNullUnionSchema(Type.String())),
  }),
  /**
   * Writes a history of states. Each update has `values` or a `command`, and in `as_node` the node that counts as its
   * author.
   */
  supersteps: Type.Object({
    ...ofThread,
    supersteps: Type.Array(
      Type.Object({ updates: Type.Array(buildJsonObjectSchema('A write of one node.')) }),
    ),
  }),
  schemas: Type.Object(ofGraph),
  /** Nodes and edges, with as many levels of subgraphs as `xray` asks for. */
  graph: Type.Object({ ...ofGraph, xray: Type.Union([Type.Boolean(), Type.Number()]) }),
  /** Namespace -> schemas of the subgraph; `namespace` asks for one, `recurse` for those below, too. */
  subgraphs: Type.Object({
    ...ofGraph,
    namespace: Type.Optional(Type.String()),
    recurse: Type.Optional(Type.Boolean()),
  }),
  /** Texts -> a vector of length one for each, in their order. */
  embed: Type.Object({ texts: Type.Array(Type.String()) }),
};

type Answers = {
  state: ThreadState;
  history: ThreadState[];
  update: WrittenState;
  supersteps: WrittenState;
  schemas: { graph_id: string } & DeclaredSchemas;
  graph: unknown;
  subgraphs: Record<string, DeclaredSchemas>;
  embed: number[][];
};

export type Operation = keyof typeof ARGS;
export type Args<K extends Operation> = Static<(typeof ARGS)[K]>;
export type Answer<K extends Operation> = Answers[K];

/** `context`: the one under which values that the call writes are encrypted. */
export type Call<K extends Operation = Operation> = {
  kind: 'call';
  call_id: number;
  operation: K;
  args: Args<K>;
  context?: Json | undefined;
};

const context = buildOptionalSchema(
  buildJsonObjectSchema('The context of values that are encrypted.'),
);

const calls = Object.entries(ARGS).map(([operation, args]) =>
  buildMessageSchema('call', {
    call_id: Type.Integer(),
    operation: Type.Literal(operation),
    args,
    context,
  }),
);

export const Call = Type.Unsafe<Call>(Type.Union(calls));
