import type { Message } from '@a2a-js/sdk';
import { Problem, Rejected } from '../../errors.ts';
import {
  buildDecidedAnswer,
  DECISIONS,
  listAskedActions,
  parseFreeAnswer,
  readQuestion,
  type DecisionKind,
} from '../../schema/agent/question-shapes.ts';
import type { AskedQuestion } from '../runs/making/asked.ts';
import { buildFileBlock, type ContentFile } from '../runs/making/content-files.ts';
import { canTakeFile, type Takes } from './agent-card.ts';
import { type Json, isObject } from '../../schema/json.ts';

/* A message of the protocol as the input of a graph, or as the answer to a graph's questions. */

const rejectUnsupported = (message: string): never => {
  throw new Problem(415, message);
};

/** The content of the parts, each kind in order; `blocks` has text and files as blocks of content. */
type Read = { blocks: Json[]; texts: string[]; files: number[]; data: unknown[] };

/** Reads the parts. Throws a 415 for one that no agent takes, and `Rejected` for a file that can't be read. */
function readParts({ parts }: Message): Read {
  const read: Read = { blocks: [], texts: [], files: [], data: [] };
  for (const [at, part] of parts.entries()) {
    const { content } = part;
    if (content?.$case === 'data') read.data.push(content.value);
    else if (content?.$case === 'text') {
      read.texts.push(content.value);
      read.blocks.push({ type: 'text', text: content.value });
    } else if (content === undefined)
      rejectUnsupported(`message.parts.${at}: has neither text, nor data, nor a file.`);
    else {
      read.files.push(at);
      read.blocks.push(buildFileBlock(toContentFile(part, `message.parts.${at}`)));
    }
  }
  return read;
}

const MEDIA_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}(?:\s*;.*)?$/;

/** Throws `Rejected` for an invalid media type, and a 415 for one that no agent takes. */
function checkMediaType(mediaType: string, at: string): void {
  if (mediaType === '') return;
  if (!MEDIA_TYPE.test(mediaType))
    throw new Rejected(`${at}.mediaType: is not a media type, such as image/png.`);
  if (!canTakeFile(mediaType))
    rejectUnsupported(
      `${at}.mediaType: the agent does not accept ${mediaType}; its card lists the types that it accepts.`,
    );
}

/** Returns the file of a part. One with a URL is passed on as that: this server does not fetch it. */
function toContentFile(
  { content, mediaType, filename }: Message['parts'][number],
  at: string,
): ContentFile {
  checkMediaType(mediaType, at);
  const facts = {
    mediaType: mediaType === '' ? undefined : mediaType,
    name: filename === '' ? undefined : filename,
  };
  if (content?.$case === 'raw')
    return {
      ...facts,
      mediaType: facts.mediaType ?? 'application/octet-stream',
      data: Buffer.from(content.value).toString('base64'),
    };
  const url = String(content?.value);
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
    throw new Rejected(
      `${at}.url: must begin with https:// or http://; send bytes in the part itself, not in a URL.`,
    );
  return { ...facts, url };
}

/** Returns a graph's input: data is merged into it, and text and files are a message of the user. */
export function buildGraphInput(message: Message, takes: Takes): Json {
  const { blocks, texts, files, data } = readParts(message);
  if (takes === 'data' && blocks.length > 0)
    rejectUnsupported(
      'This agent takes neither text nor files: send its input as a data part (application/json).',
    );
  if (!data.every(isObject))
    rejectUnsupported(
      'A data part must hold a JSON object, which is merged into the input of the agent.',
    );
  const input: Json = Object.assign({}, ...(data as Json[]));
  if (blocks.length === 0) return input;
  const before = input['messages'] ?? [];
  if (!Array.isArray(before))
    throw new Rejected('message.parts: "messages" of a data part must be a list.');
  const content = blocks.length === 1 && files.length === 0 ? texts[0] : blocks;
  // Models know by the version that the blocks are standard ones.
  const version = files.length > 0 && { response_metadata: { output_version: 'v1' } };
  return {
    ...input,
    messages: [...before, { role: 'user', content, id: message.messageId, ...version }],
  };
}

/**
 * Returns the answers with which a waiting run continues, by question id. One question is answered by a text, or by
 * one data part; several by a data part with an answer for each id.
 */
export function readAnswers(message: Message, questions: AskedQuestion[]): Json {
  const { texts, files, data } = readParts(message);
  if (files.length > 0)
    rejectUnsupported(`message.parts.${files[0]}: an answer must be text or data, not a file.`);
  const ids = questions.map(({ id }) => id);
  const [only] = questions;
  if (data.length > 1 || (data.length === 1 && texts.length > 0))
    throw new Rejected('message.parts: an answer is either text or one data part.');
  const [given] = data;
  if (only !== undefined && ids.length === 1)
    return { [only.id]: data.length === 1 ? given : readTextAnswer(only, texts.join('\n')) };
  if (!isObject(given) || !ids.every((id) => Object.hasOwn(given, id)))
    throw new Rejected(
      `message.parts: the task asks several questions: send one data part with an answer for each of ${ids.join(', ')}.`,
    );
  return Object.fromEntries(ids.map((id) => [id, given[id]]));
}

/** Words of people for decisions, beside the decisions' own. */
const SPOKEN: Record<string, DecisionKind> = {
  ...Object.fromEntries(DECISIONS.map((kind) => [kind, kind])),
  accept: 'approve',
  ok: 'approve',
  yes: 'approve',
  ignore: 'reject',
  no: 'reject',
};

/** Returns the answer that a text is: a decision, where the question is about one call, or else as it is meant. */
function readTextAnswer(question: AskedQuestion, text: string): unknown {
  const asked = readQuestion(question);
  const [action, ...others] = listAskedActions(asked);
  const meant = parseFreeAnswer(text);
  if (action === undefined || others.length > 0 || typeof meant !== 'string') return meant;
  const [, word = '', message = ''] = /^\s*(\w+)\s*(?:[:,.!]\s*([\s\S]*))?$/.exec(meant) ?? [];
  const kind = SPOKEN[word.toLowerCase()];
  if (kind !== undefined && kind !== 'edit' && action.allowed.includes(kind))
    return buildDecidedAnswer(asked, [{ kind, message }]);
  if (action.allowed.includes('respond'))
    return buildDecidedAnswer(asked, [{ kind: 'respond', message: meant }]);
  throw new Rejected(
    `message.parts: the task asks for a decision about ${action.name}: answer with one of ${action.allowed.join(', ')}, or with a data part that is the whole answer.`,
  );
}
