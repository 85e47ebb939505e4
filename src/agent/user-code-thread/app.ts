import { toError, Problem, StartError } from '../../errors.ts';
import type { AppFacts } from '../../schema/wire/wall/user-code.ts';
import type { LeftBody } from '../exchange/fetch.ts';
import {
  summarizeAppRoutes,
  buildRouteDocument,
  isMiddleware,
  type HonoRoute,
} from './app-routes.ts';

/** Where a request of the application stands: how it goes on to the built-in routes, and who calls. */
export type Standing = {
  next(request: Request, body: LeftBody): Promise<Response>;
  /** Asks the server who calls: an answer that is not `ok` refuses, and one that is has the user, if there is any. */
  guard(request: Request): Promise<Response>;
  user: unknown;
  waits(promise: Promise<unknown>): void;
};

export type App = {
  facts: AppFacts;
  fetch(request: Request, standing: Standing): Promise<Response>;
  /**
   * Returns its OpenAPI document, or else one with no more than its routes, where they are known. `failed` hears why it
   * could not make its own.
   */
  document(failed: (error: Error) => void): Promise<Record<string, unknown> | undefined>;
};

type HonoContext = { req: HonoRequest; env: Standing; set(name: string, value: unknown): void };
type HonoHandler = (context: HonoContext, next: () => Promise<void>) => unknown;

/** The used part of a Hono application. It is known by its shape, because each project brings its own copy. */
type Hono = {
  routes: HonoRoute[];
  getPath: unknown;
  errorHandler: unknown;
  fetch(request: Request, env: unknown, context: unknown): Response | Promise<Response>;
  route(path: string, app: unknown): Hono;
  use(handler: HonoHandler): Hono;
  all(path: string, handler: HonoHandler): Hono;
  notFound(handler: (context: HonoContext) => Response): Hono;
  onError(handler: (error: Error, context: HonoContext) => Response): Hono;
};

const isHono = (app: object): app is Hono => {
  const { routes, route, all, use } = app as Partial<Hono>;
  return Array.isArray(routes) && [route, all, use].every((method) => typeof method === 'function');
};

/** Returns a function that calls the export. Throws a `StartError` when nothing could. */
export function buildApp(
  exported: unknown,
  { at, guarded, failed }: { at: string; guarded: boolean; failed: (error: Error) => void },
): App {
  const app = Object(exported) as { fetch?: unknown };
  if (typeof app.fetch !== 'function')
    throw new StartError(`http.app: ${at} is not a Hono application, and has no fetch(request).`);
  return isHono(app) ? wrapHonoApp(app, { guarded, failed }) : fetchApp(app as FetchApp);
}

const buildDetailResponse = (status: number, text: string): Response =>
  Response.json({ detail: text }, { status });

/**
 * Wraps a Hono application into another one of the same class, in which the built-in routes follow its own: whatever
 * goes through its middleware arrives there.
 */
function wrapHonoApp(
  app: Hono,
  { guarded, failed }: { guarded: boolean; failed: (error: Error) => void },
): App {
  const Own = app.constructor as new (options?: object) => Hono;
  const usual = [new Own().getPath, new Own({ strict: false }).getPath].includes(app.getPath);
  const routes = guarded
    ? app.routes.map((route) => (isMiddleware(route) ? route : buildGuardedRoute(route)))
    : app.routes;
  const parsed = new WeakMap<HonoRequest, ParsedBody>();
  const outer = new Own({ getPath: app.getPath })
    .use(async ({ req, env, set }, next) => {
      parsed.set(req, new ParsedBody(req));
      if (env.user !== undefined) set('user', env.user);
      await next();
    })
    .route('/', guarded ? { routes, errorHandler: app.errorHandler } : app)
    .all('*', async ({ req, env }) => {
      parsed.get(req)?.clearStale();
      return env.next(req.raw, await readBody(req));
    })
    .notFound(() => buildDetailResponse(404, 'Not Found'))
    .onError((error) => {
      const answer = (error as { getResponse?: () => Response }).getResponse?.();
      if (answer !== undefined) return answer;
      failed(error);
      return buildDetailResponse(500, 'http.app failed.');
    });
  return {
    // Where the application has its own idea of a path, only it knows what its routes match.
    facts: { routes: usual ? summarizeAppRoutes(app.routes) : undefined },
    fetch: async (request, standing) =>
      outer.fetch(request, standing, {
        waitUntil: standing.waits,
        passThroughOnException: () => undefined,
      }),
    document: async (failedTo) =>
      (await tryReadDocument(app, failedTo)) ?? buildRouteDocument(app.routes),
  };
}

const buildGuardedRoute = (route: HonoRoute): HonoRoute => {
  // The route comes from the user's Hono, whose types are not ours.
  const handler = route.handler as unknown as HonoHandler;
  const handleGuarded: HonoHandler = async (context, next) => {
    const answer = await context.env.guard(context.req.raw);
    if (!answer.ok) return answer;
    context.set('user', await answer.json());
    return handler(context, next);
  };
  return { ...route, handler: handleGuarded };
};

/** Returns the body, which a middleware may have read. */
async function readBody(req: HonoRequest): Promise<LeftBody> {
  const { raw, bodyCache } = req;
  if (!raw.bodyUsed && Object.keys(bodyCache).length === 0) return raw.body;
  // A middleware may change a body by replacing the request, or Hono's memory of the body.
  if (!raw.bodyUsed && raw.body !== null) return raw.body;
  if (bodyCache['json'] !== undefined) return JSON.stringify(await bodyCache['json']);
  if (Object.keys(bodyCache).length > 0) return req.arrayBuffer();
  throw new Problem(
    500,
    'A middleware of http.app read the body of c.req.raw, so nothing is left for the route: use c.req.text() or c.req.json().',
  );
}

type FetchApp = { fetch(request: Request): Response | Promise<Response> };

/** An application of another kind. A 404 without reading the body leaves the request to the built-in routes. */
const fetchApp = (app: FetchApp): App => ({
  facts: { routes: undefined },
  fetch: async (request, standing) => {
    const answer = await app.fetch(request);
    if (answer.status !== 404 || request.bodyUsed) return answer;
    await answer.body?.cancel();
    return standing.next(request, request.body);
  },
  document: (failed) => tryReadDocument(app, failed),
});

const DOCUMENT = 'http://localhost/openapi.json';

type Describing = { fetch(request: Request, env?: unknown, context?: unknown): unknown };
type Document = Record<string, unknown>;

/**
 * Returns the application's OpenAPI document: the one that it serves at /openapi.json, or else the one that
 * `@hono/zod-openapi` makes of its routes.
 */
async function tryReadDocument(
  app: Describing,
  failed: (error: Error) => void,
): Promise<Document | undefined> {
  try {
    return await readDocument(app);
  } catch (error) {
    failed(toError(error));
    return undefined;
  }
}

async function readDocument(app: Describing): Promise<Document | undefined> {
  const { getOpenAPIDocument: make } = app as { getOpenAPIDocument?: (config: object) => Document };
  if (typeof make === 'function')
    return make.call(app, { openapi: '3.0.3', info: { title: 'http.app', version: '1' } });
  const answer = (await app.fetch(new Request(DOCUMENT), {}, {})) as Response;
  if (!answer.ok) return undefined;
  const document = (await answer.json()) as Document | null;
  return typeof document?.['paths'] === 'object' ? document : undefined;
}

/** The used part of a request of Hono. `bodyCache` is its memory of the body, by the form it was asked in. */
type HonoRequest = {
  raw: Request;
  bodyCache: Record<string, Promise<unknown> | undefined>;
  json(): Promise<unknown>;
  arrayBuffer(): Promise<ArrayBuffer>;
};

/**
 * Has a request of Hono remember its parsed body, so that the changes that a middleware makes in place are there
 * for the next handler. Newer versions of Hono remember the text alone, and parse it again each time.
 */
class ParsedBody {
  readonly #req: HonoRequest;
  readonly #parse: () => Promise<unknown>;
  #kept: { json: Promise<unknown>; text: Promise<unknown> | undefined } | undefined;

  constructor(req: HonoRequest) {
    this.#req = req;
    this.#parse = req.json.bind(req);
    req.json = () => this.#readJson();
  }

  #readJson(): Promise<unknown> {
    const { bodyCache } = this.#req;
    this.clearStale();
    if (bodyCache['json'] !== undefined) return bodyCache['json'];
    const json = this.#parse();
    bodyCache['json'] = json;
    this.#kept = { json, text: bodyCache['text'] };
    // A text that is not JSON stays as it is.
    json.catch(() => this.#clear(json));
    return json;
  }

  /** Forgets the parsed body if a middleware has replaced the text since. */
  clearStale(): void {
    if (this.#kept !== undefined && this.#kept.text !== this.#req.bodyCache['text'])
      this.#clear(this.#kept.json);
  }

  #clear(json: Promise<unknown>): void {
    if (this.#req.bodyCache['json'] === json) delete this.#req.bodyCache['json'];
    this.#kept = undefined;
  }
}
