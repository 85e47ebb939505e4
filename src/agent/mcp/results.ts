import type { CallToolResult } from '@modelcontextprotocol/server';
import { isUnfinished, type RunError, type RunStatus } from '../../schema/agent/run.ts';
import { parseJsonText, type JsonText } from '../../schema/wire/wall/json-text.ts';
import { listAskedQuestions, type AskedQuestion } from '../runs/making/asked.ts';
import {
  readContentFile,
  readLastContent,
  type ContentFile,
} from '../runs/making/content-files.ts';
import { type Json, isObject } from '../../schema/json.ts';

export type Ended =
  | { kind: 'failed'; error: RunError }
  | { kind: 'asks'; state: Json; questions: AskedQuestion[] }
  | { kind: 'done'; state: Json; text: JsonText };

const STOPPING: RunError = {
  error: 'Unavailable',
  message: 'The server stopped before the run ended; call the tool again.',
};
const STOPPED: RunError = { error: 'Interrupted', message: 'The run was stopped before its end.' };

/** Reads the final state of a run (see `loadFinalState` of `runs`). */
export function parseRunEnd(text: JsonText, status: RunStatus | undefined): Ended {
  if (status !== undefined && isUnfinished(status)) return { kind: 'failed', error: STOPPING };
  const whole = parseJsonText(text);
  // The state of some graphs is no object, but a tool's result has to be one.
  const state = isObject(whole) ? whole : { value: whole };
  if (state['__error__'] !== undefined)
    return { kind: 'failed', error: state['__error__'] as RunError };
  if (status !== 'success') return { kind: 'failed', error: STOPPED };
  const asked = state['__interrupt__'];
  const questions = listAskedQuestions(Array.isArray(asked) ? asked : []);
  return questions.length > 0 ? { kind: 'asks', state, questions } : { kind: 'done', state, text };
}

export const buildFailedResult = (message: string): CallToolResult => ({
  content: [{ type: 'text', text: message }],
  isError: true,
});

/**
 * Returns the state as text for a model to read, and as it is for programs. Files of the agent's last message are
 * content of their own. A model can't read their bytes in the text, so that names them only.
 */
export function buildStateResult(state: Json, text?: JsonText): CallToolResult {
  const files = readLastContent(state['messages']).flatMap((part) =>
    'file' in part ? [part.file] : [],
  );
  const read = isHolding(state)
    ? JSON.stringify(stripBytes(state))
    : (text ?? JSON.stringify(state));
  return {
    content: [{ type: 'text', text: read }, ...files.map(toFileContent)],
    structuredContent: state,
    isError: false,
  };
}

function toFileContent(
  file: ContentFile,
  index: number,
): Exclude<CallToolResult['content'][number], { type: 'text' }> {
  const { mediaType, name = `file-${index + 1}` } = file;
  const typed = mediaType !== undefined && { mimeType: mediaType };
  if ('url' in file) return { type: 'resource_link', uri: file.url, name, ...typed };
  const { data } = file;
  if (mediaType?.startsWith('image/')) return { type: 'image', data, mimeType: mediaType };
  if (mediaType?.startsWith('audio/')) return { type: 'audio', data, mimeType: mediaType };
  const at = { uri: `result:///${index + 1}/${encodeURIComponent(name.toWellFormed())}`, ...typed };
  const words = TEXT.test(mediaType ?? '') ? decodeText(data) : undefined;
  return {
    type: 'resource',
    resource: words === undefined ? { ...at, blob: data } : { ...at, text: words },
  };
}

const TEXT = /^(?:text\/|application\/(?:[\w.+-]+\+)?json\b)/;

/** Returns the text that the bytes are in UTF-8; undefined for other bytes. */
function decodeText(data: string): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(data, 'base64'));
  } catch {
    return undefined;
  }
}

const getBlocks = (message: unknown): unknown[] => {
  const { content } = (message ?? {}) as { content?: unknown };
  return Array.isArray(content) ? content : [];
};

const hasBytes = (block: unknown): boolean => 'data' in (readContentFile(block) ?? {});
const isHolding = ({ messages }: Json): boolean =>
  Array.isArray(messages) && messages.some((message) => getBlocks(message).some(hasBytes));

/** Returns the state with the files of its messages named by their type, name and size. */
function stripBytes({ messages, ...others }: Json): Json {
  const summarizeBlock = (block: unknown): unknown => {
    const file = readContentFile(block);
    if (file === undefined || 'url' in file) return block;
    const { data, mediaType, name } = file;
    return {
      type: (block as Json)['type'],
      mimeType: mediaType,
      name,
      bytes: Buffer.byteLength(data, 'base64'),
    };
  };
  const stripMessage = (message: Json): Json => {
    if (!getBlocks(message).some(hasBytes)) return message;
    // LangChain.js may write the content under this name, too.
    const { content_blocks: _blocks, ...rest } = message;
    return { ...rest, content: getBlocks(message).map(summarizeBlock) };
  };
  return { ...others, messages: (messages as Json[]).map(stripMessage) };
}
