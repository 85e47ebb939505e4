import { AnswerTooLong, buildKubeError } from './errors.ts';
import { Forbidden, NotFound, Unavailable } from '../errors.ts';
import { loadCredentials } from './credentials.ts';
import type {
  ConnectedKube,
  JsonPatch,
  Kind,
  Kube,
  KubeObject,
  ListOptions,
  Page,
  PodLogOptions,
  Ref,
  RequestSample,
  OpenApi,
} from './kube.ts';
import { buildKubePath, formatQuery, listQuery, toRef } from './paths.ts';
import { sendWithRetries } from './retry.ts';
import { type HttpAnswer, Transport } from './transport.ts';
import { watchStream } from './watch-stream.ts';

const CALL_LIMIT = 30_000;
const LIST_LIMIT = 60_000;
/** Objects of a page. 500 are about 3 MB, which is parsed in some 100 ms, so no page blocks the event loop for long. */
const PAGE = 500;
/** Bytes of a page. Objects of a megabyte each would otherwise fill the memory: 500 of them are half a gigabyte. */
const PAGE_BYTES = 12 * 2 ** 20;

const JSON_BODY = 'application/json';
const JSON_PATCH = 'application/json-patch+json';
const MERGE_PATCH = 'application/merge-patch+json';
const APPLY_PATCH = 'application/apply-patch+yaml';

export type ConnectOptions = {
  /** The owner of applied fields. It never changes. */
  fieldManager: string;
  userAgent: string;
  /** The path of a kubeconfig. The default is KUBECONFIG, then the pod's service account, then ~/.kube/config. */
  kubeconfig?: string;
};

type Call = {
  method: string;
  path: string;
  body?: unknown;
  type?: string;
  idempotent: boolean;
  timeout?: number;
  mostBytes?: number | undefined;
  signal?: AbortSignal | undefined;
};

/** Opens a client of the API server. It sends nothing yet. */
export async function connect(options: ConnectOptions): Promise<ConnectedKube> {
  return new Client(
    new Transport(await loadCredentials(options.kubeconfig), options.userAgent),
    options,
  );
}

class Client implements ConnectedKube {
  readonly #transport: Transport;
  readonly #options: ConnectOptions;
  readonly #mayWrite: () => boolean;
  #listeners: ((sample: RequestSample) => void)[] = [];

  constructor(transport: Transport, options: ConnectOptions, mayWrite = () => true) {
    this.#transport = transport;
    this.#options = options;
    this.#mayWrite = mayWrite;
  }

  buildFenced(holds: () => boolean): Kube {
    const door = new Client(this.#transport, this.#options, holds);
    door.#listeners = this.#listeners;
    return door;
  }

  addRequestListener(listener: (sample: RequestSample) => void): void {
    this.#listeners.push(listener);
  }

  async openApi(groupVersion: string, signal?: AbortSignal): Promise<OpenApi | undefined> {
    try {
      return await this.#fetchJson<OpenApi>({
        method: 'GET',
        path: `/openapi/v3/apis/${groupVersion}`,
        idempotent: true,
        signal,
      });
    } catch (error) {
      if (error instanceof NotFound || error instanceof Forbidden) return undefined;
      throw error;
    }
  }

  get<T extends KubeObject>(kind: Kind<T>, ref: Ref, signal?: AbortSignal): Promise<T> {
    return this.#fetchJson<T>({
      method: 'GET',
      path: buildKubePath(kind, ref),
      idempotent: true,
      signal,
    });
  }

  async find<T extends KubeObject>(
    kind: Kind<T>,
    ref: Ref,
    signal?: AbortSignal,
  ): Promise<T | undefined> {
    try {
      return await this.get(kind, ref, signal);
    } catch (error) {
      if (error instanceof NotFound) return undefined;
      throw error;
    }
  }

  async list<T extends KubeObject>(
    kind: Kind<T>,
    options: ListOptions = {},
    signal?: AbortSignal,
  ): Promise<Page<T>> {
    try {
      return await this.#listPage(kind, options, signal);
    } catch (error) {
      const { limit = 1 } = options;
      if (!(error instanceof AnswerTooLong) || limit === 1) throw error;
      return this.list(kind, { ...options, limit: Math.ceil(limit / 4) }, signal);
    }
  }

  async #listPage<T extends KubeObject>(
    kind: Kind<T>,
    options: ListOptions,
    signal: AbortSignal | undefined,
  ): Promise<Page<T>> {
    const path =
      buildKubePath(kind, {
        ...(options.namespace !== undefined && { namespace: options.namespace }),
      }) + listQuery(options);
    const list = await this.#fetchJson<{
      items: T[] | null;
      metadata: { resourceVersion: string; continue?: string };
    }>({
      method: 'GET',
      path,
      idempotent: true,
      timeout: LIST_LIMIT,
      // A page of one object is read however large it is.
      ...(options.limit !== undefined && options.limit > 1 && { mostBytes: PAGE_BYTES }),
      signal,
    });
    // The items of a list lack the kind and version that a single object has.
    const head = { apiVersion: kind.apiVersion, kind: kind.kind };
    const items = (list.items ?? []).map((item) => ({ ...head, ...item }));
    const next = list.metadata.continue;
    return {
      items,
      resourceVersion: list.metadata.resourceVersion,
      ...(next !== undefined && next !== '' && { continue: next }),
    };
  }

  async listAll<T extends KubeObject>(
    kind: Kind<T>,
    options: ListOptions = {},
    signal?: AbortSignal,
  ): Promise<T[]> {
    const items: T[] = [];
    let next: string | undefined;
    do {
      const page: Page<T> = await this.list(
        kind,
        { limit: PAGE, ...options, ...(next !== undefined && { continue: next }) },
        signal,
      );
      items.push(...page.items);
      next = page.continue;
    } while (next !== undefined);
    return items;
  }

  create<T extends KubeObject>(
    kind: Kind<T>,
    object: T,
    options: { dryRun?: boolean } = {},
    signal?: AbortSignal,
  ): Promise<T> {
    const path =
      buildKubePath(kind, { namespace: toRef(object).namespace }) + this.#writeQuery(options);
    return this.#fetchJson<T>({
      method: 'POST',
      path,
      body: object,
      type: JSON_BODY,
      idempotent: false,
      signal,
    });
  }

  apply<T extends KubeObject>(kind: Kind<T>, object: T, signal?: AbortSignal): Promise<T> {
    const path =
      buildKubePath(kind, toRef(object)) +
      formatQuery({ fieldManager: this.#options.fieldManager, force: true });
    return this.#fetchJson<T>({
      method: 'PATCH',
      path,
      body: object,
      type: APPLY_PATCH,
      idempotent: true,
      signal,
    });
  }

  patchJson<T extends KubeObject>(
    kind: Kind<T>,
    ref: Ref,
    patch: JsonPatch,
    ...[options = {}, signal]: [options?: { dryRun?: boolean }, signal?: AbortSignal]
  ): Promise<T> {
    const path = buildKubePath(kind, ref) + this.#writeQuery(options);
    return this.#fetchJson<T>({
      method: 'PATCH',
      path,
      body: patch,
      type: JSON_PATCH,
      idempotent: false,
      signal,
    });
  }

  patchStatus<T extends KubeObject>(
    kind: Kind<T>,
    ref: Ref,
    status: object,
    signal?: AbortSignal,
  ): Promise<T> {
    const path = buildKubePath(kind, ref, 'status') + this.#writeQuery({});
    return this.#fetchJson<T>({
      method: 'PATCH',
      path,
      body: { status },
      type: MERGE_PATCH,
      idempotent: true,
      signal,
    });
  }

  replace<T extends KubeObject>(kind: Kind<T>, object: T, signal?: AbortSignal): Promise<T> {
    const path = buildKubePath(kind, toRef(object)) + this.#writeQuery({});
    return this.#fetchJson<T>({
      method: 'PUT',
      path,
      body: object,
      type: JSON_BODY,
      idempotent: false,
      signal,
    });
  }

  async delete(
    kind: Kind,
    ref: Ref,
    options: {
      uid?: string;
      resourceVersion?: string;
      propagation?: 'Background' | 'Foreground' | 'Orphan';
    } = {},
    signal?: AbortSignal,
  ): Promise<boolean> {
    const { uid, resourceVersion, propagation = 'Background' } = options;
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      propagationPolicy: propagation,
      preconditions: {
        ...(uid !== undefined && { uid }),
        ...(resourceVersion !== undefined && { resourceVersion }),
      },
    };
    try {
      await this.#fetchJson({
        method: 'DELETE',
        path: buildKubePath(kind, ref),
        body,
        type: JSON_BODY,
        idempotent: true,
        signal,
      });
      return true;
    } catch (error) {
      if (error instanceof NotFound) return false;
      throw error;
    }
  }

  async *watch<T extends KubeObject>(
    kind: Kind<T>,
    options: ListOptions & { resourceVersion: string; timeoutSeconds: number },
    signal: AbortSignal,
  ) {
    const { labelSelector, fieldSelector, resourceVersion, timeoutSeconds, namespace } = options;
    const query = formatQuery({
      watch: true,
      allowWatchBookmarks: true,
      labelSelector,
      fieldSelector,
      resourceVersion,
      timeoutSeconds,
    });
    const path = buildKubePath(kind, { ...(namespace !== undefined && { namespace }) }) + query;
    const response = await this.#sample('GET', () =>
      this.#transport.stream({ method: 'GET', path, timeout: CALL_LIMIT, signal }),
    );
    yield* watchStream<T>(response, signal);
  }

  async readPodLog(ref: Ref, options: PodLogOptions, signal?: AbortSignal): Promise<string> {
    const {
      container,
      tailLines,
      limitBytes,
      previous,
      timestamps,
      sinceTime,
      once = false,
    } = options;
    const kind = { apiVersion: 'v1', kind: 'Pod', plural: 'pods', namespaced: true };
    const path =
      buildKubePath(kind, ref, 'log') +
      formatQuery({ container, tailLines, limitBytes, previous, timestamps, sinceTime });
    return (await this.#send({ method: 'GET', path, idempotent: !once, signal })).body;
  }

  async close(): Promise<void> {
    this.#transport.close();
  }

  readonly #writeQuery = ({ dryRun }: { dryRun?: boolean }): string =>
    formatQuery({
      fieldManager: this.#options.fieldManager,
      ...(dryRun === true && { dryRun: 'All' }),
    });

  async #fetchJson<T>(call: Call): Promise<T> {
    return JSON.parse((await this.#send(call)).body) as T;
  }

  async #send(call: Call): Promise<HttpAnswer> {
    const { method, path, idempotent, timeout = CALL_LIMIT, mostBytes, signal } = call;
    const body = call.body === undefined ? undefined : JSON.stringify(call.body);
    const headers = { ...(call.type !== undefined && { 'content-type': call.type }) };
    const sendOnce = async () => {
      if (method !== 'GET' && !this.#mayWrite())
        throw new Unavailable('not sent: this process may not write any more');
      return this.#sample(method, () =>
        this.#transport.call({
          method,
          path,
          headers,
          timeout,
          mostBytes,
          signal,
          ...(body !== undefined && { body }),
        }),
      );
    };
    let answer = await sendWithRetries(sendOnce, { idempotent, signal });
    if (answer.status === 401) {
      this.#transport.renew();
      answer = await sendWithRetries(sendOnce, { idempotent, signal });
    }
    if (answer.status < 200 || answer.status > 299)
      throw buildKubeError(answer.status, answer.body);
    return answer;
  }

  async #sample<A extends { status?: number; statusCode?: number | undefined }>(
    method: string,
    send: () => Promise<A>,
  ): Promise<A> {
    const started = performance.now();
    let code = '<error>';
    try {
      const answer = await send();
      code = String(answer.status ?? answer.statusCode);
      return answer;
    } finally {
      const sample = {
        method,
        code,
        host: this.#transport.host,
        seconds: (performance.now() - started) / 1000,
      };
      for (const listener of this.#listeners) listener(sample);
    }
  }
}
