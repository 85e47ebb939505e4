import type { ApiRequest, QueryValue } from './api-request.ts';
import { describeRefusal } from './refusal.ts';

/** An answer that is no success. Its message is a sentence for people. */
export class RequestRefused extends Error {
  override name = 'RequestRefused';
  readonly status: number;
  readonly reason: string | undefined;
  constructor(status: number, body: unknown) {
    super(describeRefusal(status, body));
    this.status = status;
    const reason =
      typeof body === 'object' && body !== null && 'reason' in body ? body.reason : undefined;
    this.reason = typeof reason === 'string' ? reason : undefined;
  }
}

/** No answer came at all. */
export class Unreached extends Error {
  override name = 'Unreached';
}

type SessionHooks = {
  tenant: () => string | undefined;
  ended: (reason: string | undefined) => void;
};

/** The door to the server: all requests of the page go through it. */
export class Calls {
  readonly #around: SessionHooks;

  constructor(around: SessionHooks) {
    this.#around = around;
  }

  /** Asks the API of the control plane, and returns its answer as JSON. Throws `RequestRefused` or `Unreached`. */
  async fetchJson<Answer>(path: string, asked: ApiRequest = {}): Promise<Answer> {
    const response = await this.open(`api/${path}`, asked);
    return (await readWhole(response)) as Answer;
  }

  /** As `json`, with the version of the answer, which a later change may name. */
  async fetchVersioned<Answer>(
    path: string,
    asked: ApiRequest = {},
  ): Promise<{ body: Answer; etag: string | undefined }> {
    const response = await this.open(`api/${path}`, asked);
    return {
      body: (await readWhole(response)) as Answer,
      etag: response.headers.get('etag') ?? undefined,
    };
  }

  async fetchText(path: string, asked: ApiRequest = {}): Promise<string> {
    return (await this.open(`api/${path}`, asked)).text();
  }

  /** Sends a request to a path below the root of the page. The answer has begun, and is a success. */
  async open(path: string, request: ApiRequest): Promise<Response> {
    const tenant = this.#around.tenant();
    const own = {
      ...(request.method !== undefined && { 'x-gx-console': '1' }),
      ...(tenant !== undefined && { 'x-tenant-id': tenant }),
    };
    const headers = { ...own, ...request.headers };
    const silence = 'The console does not answer. Is the connection lost?';
    const response = await sendRequest(
      new URL(path, document.baseURI),
      { ...request, headers },
      silence,
    );
    if (response.ok) return response;
    const refused = new RequestRefused(
      response.status,
      await readWhole(response).catch(() => undefined),
    );
    if (refused.status === 401 && path !== 'session') this.#around.ended(refused.reason ?? 'ended');
    throw refused;
  }
}

/** Sends a request to an address. Throws `Unreached` with a sentence where no answer comes at all. */
async function sendRequest(url: URL, request: ApiRequest, silence: string): Promise<Response> {
  const { method = 'GET', query = {}, body, headers = {}, signal } = request;
  for (const [name, value] of Object.entries(query))
    for (const one of listValues(value)) url.searchParams.append(name, one);
  const all = {
    accept: 'application/json',
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...headers,
  };
  const content = body === undefined ? {} : { body: JSON.stringify(body) };
  const init: RequestInit = {
    method,
    headers: all,
    ...content,
    ...(signal !== undefined && { signal }),
    redirect: 'error',
  };
  return fetch(url, init).catch((error: unknown) => {
    if (signal?.aborted === true) throw error;
    throw new Unreached(silence, { cause: error });
  });
}

/** Sends a request to a server of the page's own. Throws `RequestRefused` or `Unreached`. */
export async function askServer(url: URL, request: ApiRequest, silence: string): Promise<Response> {
  const response = await sendRequest(url, request, silence);
  if (response.ok) return response;
  throw new RequestRefused(response.status, await readWhole(response).catch(() => undefined));
}

function listValues(value: QueryValue): string[] {
  if (value === undefined || value === '') return [];
  return typeof value === 'object' ? [...value] : [String(value)];
}

async function readWhole(response: Response): Promise<unknown> {
  const text = await response.text();
  return text === '' ? undefined : (JSON.parse(text) as unknown);
}
