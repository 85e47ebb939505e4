import type { AgentCard } from '@a2a-js/sdk';
import type { TObject } from 'typebox';
import { Problem } from '../../errors.ts';
import { buildRpcRefusal, RPC_CODES } from '../../http/routes/json-rpc.ts';
import {
  answerJson,
  answerEvents,
  type PlainFailure,
  type Reply,
  type SseEvent,
} from '../../http/routes/route.ts';
import { createValidator, type Check } from '../../http/bodies/validate.ts';
import { answerSlowly } from '../../http/routes/web.ts';
import { A2A_REQUESTS, A2A_SENDS, A2A_STREAMS, A2A_WRITES } from '../../schema/agent/a2a.ts';
import { type AgentCall, permitAccess } from '../auth/caller.ts';
import type { AgentDeps } from '../parts/deps.ts';
import { AssistantTasks } from './assistant-tasks.ts';
import type { Cards } from './cards.ts';
import { loadA2a, type A2aPackage } from './package.ts';
import { toJsonNames } from './proto-names.ts';

/** The protocol's ContentTypeNotSupportedError. */
const OTHER_TYPE = -32_005;

/** Items that a list of a message may have. */
const MOST_ITEMS = 1000;

/** Answers A2A, in versions 1.0 and 0.3. */
export class A2aEndpoint {
  readonly #deps: AgentDeps;
  readonly #cards: Cards;
  readonly #requests: ReadonlyMap<string, { schema: TObject; check: Check }>;
  #loading: Promise<A2aPackage> | undefined;

  constructor(deps: AgentDeps, cards: Cards) {
    this.#deps = deps;
    this.#cards = cards;
    const check = createValidator({ listItems: MOST_ITEMS });
    this.#requests = new Map(
      Object.entries(A2A_REQUESTS).map(([method, schema]) => [
        method,
        { schema, check: check(schema, 'body') },
      ]),
    );
  }

  /** Answers one request to an assistant. Throws `NotFound` for one that the caller may not see. */
  async answer(
    body: unknown,
    { assistant, request }: { assistant: string; request: AgentCall },
  ): Promise<Reply> {
    refuseOtherTypes(request);
    if (isRequest(body) && A2A_WRITES.includes(body.method)) permitAccess(request.caller, 'write');
    const a2a = await (this.#loading ??= loadA2a());
    const known = await this.#cards.loadRecent(assistant, request);
    const { assistant_id } = known.assistant;
    const version = readVersion(request, body);
    const buildCard = (): AgentCard =>
      a2a.AgentCard.fromJSON(this.#cards.buildCard(known, request));
    const facts = {
      request,
      assistant_id,
      takes: known.takes,
      a2a,
      version: version ?? ('1.0' as const),
      card: buildCard,
    };
    const tasks = new AssistantTasks(this.#deps, facts);
    const read = this.#read(body, { request, a2a });
    if ('refusal' in read)
      return answerJson({ jsonrpc: '2.0', id: readId(body), error: read.refusal });
    const versioned = { a2a, tasks, version: version! };
    if (A2A_STREAMS.includes(read.asked.method)) return streamAnswer(read.asked, versioned);
    return answerSlowly(answerRequest(read.asked, versioned));
  }

  /** Returns the request with its fields under their names of JSON, or why it can't be read. */
  #read(
    body: unknown,
    { request, a2a }: { request: AgentCall; a2a: A2aPackage },
  ): { asked: JsonRpc } | { refusal: object } {
    const { VersionNotSupportedError, toJsonRpcError } = a2a.errors;
    if (readVersion(request, body) === undefined)
      return {
        refusal: toJsonRpcError(
          new VersionNotSupportedError('A2A-Version: this server speaks 1.0 and 0.3.'),
        ),
      };
    try {
      if (!isRequest(body))
        return {
          refusal: {
            code: RPC_CODES.invalidRequest,
            message: 'The body must be one request of JSON-RPC 2.0.',
          },
        };
      const known = this.#requests.get(body.method);
      if (known === undefined) return { asked: body };
      const asked = toJsonNames(known.schema, body) as JsonRpc;
      known.check(asked, 'body');
      return { asked };
    } catch (error) {
      if (error instanceof Problem)
        return { refusal: { code: RPC_CODES.invalidParams, message: error.message } };
      throw error;
    }
  }
}

type Versioned = { a2a: A2aPackage; tasks: AssistantTasks; version: '1.0' | '0.3' };

function runHandler(
  body: unknown,
  { a2a, tasks, version }: Versioned,
): ReturnType<InstanceType<A2aPackage['JsonRpcTransportHandler']>['handle']> {
  const Handler =
    version === '0.3' ? a2a.LegacyJsonRpcTransportHandler : a2a.JsonRpcTransportHandler;
  const context = new a2a.ServerCallContext({ requestedVersion: version });
  // The handlers validate the body.
  return new Handler(tasks).handle(body as Record<string, unknown>, context);
}

async function answerRequest(body: unknown, versioned: Versioned): Promise<unknown> {
  const given = await runHandler(body, versioned);
  const { error } = given as { error?: { code: number } };
  // Nothing of ours failed, so the package could not read the request.
  if (error?.code === RPC_CODES.internal && !versioned.tasks.failed)
    return {
      ...given,
      error: { code: RPC_CODES.invalidParams, message: 'params: do not match the method.' },
    };
  return given;
}

/** Answers with a stream, or with the error of a request that gets none. */
async function streamAnswer(body: JsonRpc, versioned: Versioned): Promise<Reply> {
  const given = await runHandler(body, versioned);
  if (!(Symbol.asyncIterator in given)) return answerJson(given);
  const buildErrorReply = (error: unknown): object => ({
    jsonrpc: '2.0',
    id: readId(body),
    error: versioned.a2a.errors.toJsonRpcError(error),
  });
  try {
    const first = await given.next();
    return answerEvents(() => streamEvents(first, given, buildErrorReply));
  } catch (error) {
    return answerJson(buildErrorReply(error));
  }
}

/** Yields the first answer and those behind it. A failure on the way is the last. */
async function* streamEvents(
  first: IteratorResult<unknown>,
  rest: AsyncGenerator<unknown>,
  refused: (error: unknown) => object,
): AsyncGenerator<SseEvent> {
  const toEvent = (data: unknown): SseEvent => ({ event: 'message', data });
  try {
    if (first.done !== true) yield toEvent(first.value);
    for await (const answer of rest) yield toEvent(answer);
  } catch (error) {
    yield toEvent(refused(error));
  } finally {
    await rest.return(undefined);
  }
}

type JsonRpc = { jsonrpc: '2.0'; method: string; id?: string | number | null };

function isRequest(body: unknown): body is JsonRpc {
  const { jsonrpc, method, id = null } = (body ?? {}) as Partial<JsonRpc>;
  return (
    jsonrpc === '2.0' &&
    typeof method === 'string' &&
    method !== '' &&
    (typeof id === 'string' || Number.isInteger(id) || id === null)
  );
}

const readId = (body: unknown): string | number | null =>
  isRequest(body) ? (body.id ?? null) : null;

/** Returns the version that the client asks for. Without a header, the name of the method shows it. */
function readVersion({ headers }: AgentCall, body: unknown): '1.0' | '0.3' | undefined {
  const asked = [headers['a2a-version']].flat()[0]?.trim() ?? '';
  if (asked === '1.0' || asked === '0.3') return asked;
  if (asked !== '') return undefined;
  return isRequest(body) && /^[a-z]/.test(body.method) ? '0.3' : '1.0';
}

/** Throws a 415 for a body that says that it is no JSON. */
function refuseOtherTypes({ headers }: AgentCall): void {
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? 'application/json';
  if (!['application/json', 'application/a2a+json'].includes(type))
    throw new Problem(415, `The body must be application/json, and not ${type}.`);
}

/** Returns how many runs a request starts. */
export const countStartedTasks = (body: unknown): number =>
  isRequest(body) && A2A_SENDS.includes(body.method) ? 1 : 0;

/** Words a refusal of the whole request. */
export function buildTaskRefusal(failure: PlainFailure): { status: number; body: object } {
  const refusal = buildRpcRefusal(failure);
  if (failure.status !== 415) return refusal;
  return {
    ...refusal,
    body: { jsonrpc: '2.0', id: null, error: { code: OTHER_TYPE, message: failure.detail } },
  };
}
