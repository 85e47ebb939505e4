import type { Assistant } from '../../schema/agent/assistant.ts';
import { buildSecurityFields, type Door } from './security-schemes.ts';
import { type Json, isObject } from '../../schema/json.ts';

/** The input of an assistant: text and files, or only the data that its graph's schema describes. */
export type Takes = 'text' | 'data' | 'unknown';

/** Reads from the JSON Schema of its input which kinds of input a graph takes. */
export function readInputKind(input: unknown): Takes {
  const properties = isObject(input) ? input['properties'] : undefined;
  if (!isObject(properties)) return 'unknown';
  return 'messages' in properties ? 'text' : 'data';
}

export const TEXT_PART = 'text/plain';
export const JSON_PART = 'application/json';

/** Files that models of some provider read, or that say nothing of their type. */
const FILES = [
  'text/*',
  'image/*',
  'audio/*',
  'video/*',
  'application/pdf',
  'application/xml',
  'application/octet-stream',
  ...['wordprocessingml.document', 'spreadsheetml.sheet', 'presentationml.presentation'].map(
    (kind) => `application/vnd.openxmlformats-officedocument.${kind}`,
  ),
];
const ALL = [TEXT_PART, JSON_PART, ...FILES];

/** Returns true for the media type of a file that an agent takes, if it takes files. */
export function canTakeFile(mediaType: string): boolean {
  const type = mediaType.split(';')[0]!.trim().toLowerCase();
  return ALL.includes(type) || ALL.includes(`${type.split('/')[0]}/*`);
}

const MODES: Record<Takes, string[]> = { text: ALL, data: [JSON_PART], unknown: ALL };

type CardFields = {
  assistant: Assistant;
  takes: Takes;
  address: string;
  version: string;
  pushes: boolean;
  door: Door;
};

/**
 * Returns the card of an assistant, with the fields of both versions. `address` is that of this server;
 * `pushes`: the server sends push notifications about tasks.
 */
export function buildAgentCard({
  assistant,
  takes,
  address,
  version,
  pushes,
  door,
}: CardFields): Json {
  const { assistant_id, name } = assistant;
  const url = `${address}/a2a/${assistant_id}`;
  const description = assistant.description ?? `The agent "${name}".`;
  const inputModes = MODES[takes];
  const offered =
    takes === 'data'
      ? `${description} It takes neither text nor files: send its input as a data part.`
      : description;
  const buildInterface = (protocolVersion: string): Json => ({
    url,
    protocolBinding: 'JSONRPC',
    protocolVersion,
  });
  return {
    name,
    description: offered,
    version,
    supportedInterfaces: [buildInterface('1.0'), buildInterface('0.3')],
    // Clients of version 0.3 read these four.
    url,
    protocolVersion: '0.3.0',
    preferredTransport: 'JSONRPC',
    supportsAuthenticatedExtendedCard: door.guarded,
    ...buildSecurityFields(door),
    capabilities: {
      streaming: true,
      pushNotifications: pushes,
      extendedAgentCard: door.guarded,
      extensions: [],
    },
    defaultInputModes: inputModes,
    defaultOutputModes: [TEXT_PART, JSON_PART],
    skills: [
      {
        id: `${assistant_id}-main`,
        name,
        description: offered,
        tags: ['agent'],
        inputModes,
        outputModes: [TEXT_PART, JSON_PART],
        examples: [],
      },
    ],
  };
}
