import type { Tool } from '@modelcontextprotocol/server';
import type { AssistantTool } from '../db/assistants/assistant-tools.ts';
import { type Json, isObject } from '../../schema/json.ts';

/** Messages as a model writes them. LangGraph takes more forms, which would only confuse it. */
const MESSAGES: Json = {
  type: 'array',
  description: 'The conversation so far; usually one message from the user.',
  items: {
    type: 'object',
    properties: {
      role: { type: 'string', enum: ['user', 'assistant', 'system'] },
      content: { type: 'string' },
    },
    required: ['role', 'content'],
  },
};

/** Returns an assistant as a tool. `input` is the JSON Schema of its graph's input; null where it is unknown. */
export const buildTool = ({ tool, name, description }: AssistantTool, input: unknown): Tool => ({
  name: tool,
  title: name,
  description: description ?? `Asks the agent "${name}".`,
  inputSchema: buildInputSchema(input),
  // A graph may do anything, and asks a person itself where it has to.
  annotations: {
    title: name,
    readOnlyHint: false,
    destructiveHint: false,
    idempotentHint: false,
    openWorldHint: true,
  },
});

/** A tool takes an object; a graph that takes something else gets any object. */
function buildInputSchema(input: unknown): Tool['inputSchema'] {
  if (!isObject(input) || input['type'] !== 'object') return { type: 'object' };
  const { properties, $schema: _dialect, ...rest } = stripNotes(input) as Json;
  const fields = isObject(properties) ? properties : {};
  const simple = 'messages' in fields ? { ...fields, messages: MESSAGES } : fields;
  return {
    ...rest,
    type: 'object',
    properties: simple as NonNullable<Tool['inputSchema']['properties']>,
  };
}

/** Drops LangGraph's notes in schemas, which are for its own pages. */
function stripNotes(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(stripNotes);
  if (!isObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).flatMap(([name, part]) =>
      name.startsWith('langgraph_') ? [] : [[name, stripNotes(part)]],
    ),
  );
}
