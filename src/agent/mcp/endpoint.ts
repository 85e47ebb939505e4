import type {
  ClientCapabilities,
  McpHttpHandler,
  McpRequestContext,
  ProtocolError,
  Server,
  ServerContext,
} from '@modelcontextprotocol/server';
import type { Reply } from '../../http/routes/route.ts';
import { answerSlowResponse, answerWebResponse, toWebRequest } from '../../http/routes/web.ts';
import { permitAccess } from '../auth/caller.ts';
import type { AgentDeps } from '../parts/deps.ts';
import {
  readIdempotencyKey,
  requireKeyForm,
  refuseSeveral,
  type RequestKey,
} from '../kernel/request-key.ts';
import { readVersions } from '../kernel/versions.ts';
import { callAssistant, type CallRequest, resumeCall, type ToolCall } from './calls.ts';
import { loadPackage, type McpPackage } from './package.ts';
import { Tools } from './tools.ts';
import { type WaitingCall, buildStateCodec } from './waiting-states.ts';
import { Problem } from '../../errors.ts';
import { RPC_CODES } from '../../http/routes/json-rpc.ts';
import type { Log } from '../../log.ts';

type Loaded = { mcp: McpPackage; handler: McpHttpHandler };

/** Milliseconds for which clients may keep the list of tools; an assistant may be made at any time. */
const LIST_LIFE = 60_000;
/** Milliseconds for which they may keep the server's capabilities, which change only with its version. */
const DISCOVERY_LIFE = 3_600_000;

const KEEP_ALIVE = 5000;

/** Answers MCP, both as it is since 2026-07-28 and as it was before. Each request is on its own. */
export class McpEndpoint {
  readonly #deps: AgentDeps;
  readonly #tools: Tools;
  readonly #identity = {
    name: 'gx-platform',
    title: 'Agents of this deployment',
    version: readVersions().version,
  };
  readonly #asked = new WeakMap<globalThis.Request, CallRequest>();
  #loading: Promise<Loaded> | undefined;

  constructor(deps: AgentDeps) {
    this.#deps = deps;
    this.#tools = new Tools(deps);
  }

  /** Answers one request. Its body is JSON, of whatever form. */
  async answer(body: unknown, request: CallRequest): Promise<Reply> {
    if (countCalls(body) > 0) permitAccess(request.caller, 'write');
    const { handler } = await (this.#loading ??= this.#load());
    const asked = toWebRequest({
      method: 'POST',
      path: '/mcp',
      headers: request.headers,
      signal: request.signal,
    });
    this.#asked.set(asked, { ...request, key: readCallKey(body, request) });
    const pending = handler.fetch(asked, { parsedBody: body });
    // Where progress is asked for, the answer becomes a stream, and its first event comes soon.
    return hasProgressToken(body) ? answerWebResponse(await pending) : answerSlowResponse(pending);
  }

  async #load(): Promise<Loaded> {
    const mcp = await loadPackage();
    const logRefusal = (error: Error): void =>
      this.#deps.log.debug({ err: error }, 'a request of MCP was refused');
    const handler = mcp.createMcpHandler((context) => this.#createServer(mcp, context), {
      onerror: logRefusal,
      keepAliveMs: KEEP_ALIVE,
    });
    return { mcp, handler };
  }

  #createServer(mcp: McpPackage, { era, requestInfo }: McpRequestContext): Server {
    const request = this.#asked.get(requestInfo!)!;
    const states = buildStateCodec(mcp, this.#deps.signing, request.caller.identity);
    const server = new mcp.Server(this.#identity, {
      capabilities: { tools: { listChanged: false } },
      cacheHints: {
        'tools/list': { ttlMs: LIST_LIFE, cacheScope: 'private' },
        'server/discover': { ttlMs: DISCOVERY_LIFE, cacheScope: 'private' },
      },
      requestState: { verify: states.verify },
    });
    const refusing = { ProtocolError: mcp.ProtocolError, log: this.#deps.log };
    const throwRefusal = (error: unknown): never => {
      throw toRefusal(error, refusing);
    };
    server.setRequestHandler('tools/list', ({ params }) =>
      this.#tools.list(request.caller, params?.cursor).catch(throwRefusal),
    );
    server.setRequestHandler('tools/call', ({ params }, context) => {
      const mint =
        era === 'modern' && canBeAsked(context)
          ? (waiting: WaitingCall) => states.mint(waiting, context)
          : undefined;
      return this.#call(mcp, params, { request, context, mint }).catch(throwRefusal);
    });
    return server;
  }

  async #call(
    mcp: McpPackage,
    {
      name,
      arguments: input = {},
    }: { name: string; arguments?: Record<string, unknown> | undefined },
    call: Omit<ToolCall, 'assistantId'>,
  ): ReturnType<typeof callAssistant> {
    const tool = await this.#tools.find(call.request.caller, name);
    if (tool === undefined)
      throw new mcp.ProtocolError(mcp.ProtocolErrorCode.InvalidParams, `Unknown tool: ${name}`);
    const found = { ...call, assistantId: tool.assistant_id };
    const waiting = call.context.mcpReq.requestState<WaitingCall>();
    return waiting === undefined
      ? callAssistant(this.#deps, found, input)
      : resumeCall(this.#deps, found, waiting);
  }
}

/** Returns true for a client that shows forms. An empty capability means forms. */
function canBeAsked({ mcpReq }: ServerContext): boolean {
  const envelope: Partial<Record<string, unknown>> = mcpReq.envelope ?? {};
  const { elicitation } = (envelope['io.modelcontextprotocol/clientCapabilities'] ??
    {}) as ClientCapabilities;
  return (
    elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
  );
}

/** Returns the key of a call, if it has one. Ids of JSON-RPC are no keys, because each client counts from the start. */
function readCallKey(body: unknown, { headers, caller }: CallRequest): RequestKey | undefined {
  const calls = countCalls(body);
  requireKeyForm(headers);
  if (calls === 0 || headers['idempotency-key'] === undefined) return undefined;
  if (calls > 1) return refuseSeveral();
  const [one] = [body].flat().filter(isCall) as { params?: Record<string, unknown> }[];
  const { _meta: _ignored, ...asks } = one?.params ?? {};
  return readIdempotencyKey(headers, { identity: caller.identity, route: 'mcp' }, asks);
}

/** Returns true for a call whose client wants to hear of its progress. */
function hasProgressToken(body: unknown): boolean {
  const { params } = (body ?? {}) as { params?: { _meta?: { progressToken?: unknown } } };
  return params?._meta?.progressToken !== undefined;
}

/** Returns how many runs a request starts. The older era could send several calls in a list. */
export const countCalls = (body: unknown): number => [body].flat().filter(isCall).length;

const isCall = (one: unknown): boolean =>
  (one as { method?: unknown } | null)?.method === 'tools/call';

/** Returns the error that tells a client why its call was refused. Failures of ours keep their words to the log. */
function toRefusal(
  error: unknown,
  { ProtocolError: Refused, log }: { ProtocolError: typeof ProtocolError; log: Log },
): ProtocolError {
  if (error instanceof Refused) return error;
  if (error instanceof Problem && (error.status < 500 || error.status === 503))
    return new Refused(
      [400, 403, 404, 409, 410, 422].includes(error.status)
        ? RPC_CODES.invalidParams
        : RPC_CODES.internal,
      error.message,
    );
  log.error({ err: error }, 'a call of a tool failed');
  return new Refused(RPC_CODES.internal, 'Internal error');
}
