import { Type, type Static } from 'typebox';
import { buildAnySchema, buildJsonObjectSchema } from './agent-types.ts';
import {
  buildMapSchema,
  buildNullableSchema,
  buildEnumSchema,
  buildNullableFields,
} from '../types.ts';

/*
 * The input of a run of AG-UI 1.0 (https://docs.ag-ui.com/spec/1.0). Clients from before 1.0 write null where nothing
 * is meant. Fields that are not described are passed over, as the protocol asks.
 */

/** The major version of the protocol, and the version that the server's events have. */
export const AG_UI_MAJOR = '1';
export const AG_UI_VERSION = '1.0';

const Text = Type.String({ minLength: 1 });

const ToolCall = Type.Object({
  id: Text,
  function: Type.Object({ name: Text, arguments: Type.String({ description: 'JSON.' }) }),
});

export const AgUiMessage = Type.Object({
  id: Text,
  role: buildEnumSchema([
    'developer',
    'system',
    'assistant',
    'user',
    'tool',
    'activity',
    'reasoning',
  ]),
  content: Type.Optional(
    buildAnySchema('A text; of a user or a tool, also a list of parts; of an activity, anything.'),
  ),
  ...buildNullableFields({
    name: Type.String(),
    toolCalls: Type.Array(ToolCall),
    toolCallId: Text,
    error: Type.String({ description: 'Why a tool failed.' }),
    encryptedValue: Type.String(),
    subagentRunId: Type.String({
      description: 'The agent within the agent that the message is of.',
    }),
  }),
});
export type AgUiMessage = Static<typeof AgUiMessage>;

const Resume = Type.Object({
  interruptId: Text,
  status: buildEnumSchema(['resolved', 'cancelled']),
  payload: Type.Optional(buildAnySchema('The answer.')),
});
export type AgUiResume = Static<typeof Resume>;

const Tool = Type.Object({
  name: Text,
  ...buildNullableFields({
    description: Type.String(),
    parameters: buildJsonObjectSchema('A JSON Schema.'),
    metadata: buildJsonObjectSchema(''),
  }),
});

/** The texts by which clients name threads and runs. */
export const ClientId = Type.String({
  minLength: 1,
  maxLength: 255,
  description: 'A name that the client chooses.',
});

export const RunAgentInput = Type.Object({
  threadId: ClientId,
  runId: ClientId,
  messages: Type.Array(AgUiMessage, {
    description: 'The whole conversation, as the client has it.',
  }),
  state: Type.Optional(
    buildAnySchema(
      'The state of the page. Fields that differ from the state of the thread are input of the run.',
    ),
  ),
  ...buildNullableFields({
    protocolVersion: Type.String(),
    parentRunId: Type.String(),
    tools: Type.Array(Tool, {
      description: 'Tools of the page, which the graph finds in configurable["ag-ui"].',
    }),
    context: Type.Array(buildMapSchema(Type.String(), { maxProperties: 100 })),
    forwardedProps: buildJsonObjectSchema(
      '`config.configurable`, `context`, `metadata` and `command.resume` of the run; others are ignored.',
    ),
    resume: Type.Array(Resume, {
      description: 'The answers to the questions that the thread waits at.',
    }),
  }),
});
export type RunAgentInput = Static<typeof RunAgentInput>;

export const StopAgentRun = Type.Object({
  threadId: ClientId,
  runId: Type.Optional(buildNullableSchema(ClientId)),
});
export type StopAgentRun = Static<typeof StopAgentRun>;
