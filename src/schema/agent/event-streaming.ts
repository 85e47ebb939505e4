import { Type, type Static } from 'typebox';
import { buildJsonObjectSchema, LARGEST_INTEGER } from './agent-types.ts';
import { buildNullableSchema, buildNullableFields } from '../types.ts';

/* Bodies of event streaming (protocol v2). The answer to a command says what is wrong with its parameters. */

const Texts = Type.Array(Type.String());

const filter = {
  channels: Type.Array(Type.String(), {
    minItems: 1,
    description:
      'values, updates, messages, tools, lifecycle, input, tasks, checkpoints, custom, or custom:<name>.',
  }),
  ...buildNullableFields({
    namespaces: Type.Array(Texts, {
      description:
        'Only events of graphs whose namespace begins with one of these; a node stands for all its tasks.',
    }),
    depth: Type.Integer({
      minimum: 0,
      maximum: LARGEST_INTEGER,
      description: 'Maximum number of levels below the namespace.',
    }),
  }),
};

export const EventStream = Type.Object({
  ...filter,
  since: Type.Optional(
    buildNullableSchema(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'The `seq` of the last event that the client has.',
      }),
    ),
  ),
});
export type EventStream = Static<typeof EventStream>;

export const Command = Type.Object({
  id: Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'Returned with the answer.',
  }),
  method: Type.String({ description: 'run.start, input.respond, agent.getTree or state.get.' }),
  params: Type.Optional(buildNullableSchema(buildJsonObjectSchema('The input of the command.'))),
});
export type Command = Static<typeof Command>;
