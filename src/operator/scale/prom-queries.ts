import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { expandQuery } from '../../schema/platform/rollout/rollout-trial.ts';
import { parsePromValue, type PromValue } from './prom-answer.ts';
import type { QueryAnswer } from './verdict.ts';
import { readBoundedBytes } from '../../http/bodies/bounded-bytes.ts';
import { TurnsByName } from '../../http/limits/turns.ts';
import { parseJsonOr } from '../../schema/json.ts';

/** Comparisons that are asked at a time: of all, and of one namespace. Others wait for their turn. */
const AT_ONCE = { all: 4, each: 2 };
/** Milliseconds that the server has for one answer. */
const PATIENCE = 10_000;
/** Milliseconds after which a query is asked again that got no number. */
const AGAIN = 5000;
/** Bytes of an answer that are read at most. One with a single number has some hundred. */
const MOST_BYTES = 65_536;

type Revisions = { candidate: string; stable: string };
type Options = { url: string; log: Log; clock?: () => number };

/**
 * Asks Prometheus about revisions that are tried out and those that serve, beside all reconciles, and keeps the last
 * answers. A server that never answers holds up nothing but its checks.
 */
export class PromQueries {
  readonly #options: Options;
  /** By deployment (`namespace/name`), and by the revisions and the query. */
  readonly #answers = new Map<string, Map<string, QueryAnswer>>();
  /** Those that are asked or wait for their turn. */
  readonly #open = new Set<string>();
  readonly #turns = new TurnsByName(AT_ONCE);
  readonly #clock: () => number;

  constructor(options: Options) {
    this.#options = options;
    this.#clock = options.clock ?? Date.now;
  }

  /** Asks those of the queries that are not being asked already. Returns at once. */
  ask(
    deployment: string,
    { queries, ...revisions }: Revisions & { queries: readonly string[] },
    signal: AbortSignal,
  ): void {
    for (const query of queries) {
      const key = buildAnswerKey(revisions, query);
      const id = `${deployment} ${key}`;
      const last = this.#answers.get(deployment)?.get(key);
      const isEarly = last !== undefined && 'lacks' in last && this.#clock() - last.at < AGAIN;
      if (this.#open.has(id) || isEarly) continue;
      this.#open.add(id);
      const [namespace = ''] = deployment.split('/');
      void this.#turns
        .run(namespace, async () => this.#compare(deployment, { ...revisions, query }, signal))
        .finally(() => this.#open.delete(id));
    }
  }

  getAnswers(
    deployment: string,
    revisions: Revisions & { checks: readonly { query?: string }[] },
  ): ReadonlyMap<string, QueryAnswer> {
    const known = this.#answers.get(deployment);
    return new Map(
      revisions.checks.flatMap(({ query }) => {
        const answer =
          query === undefined ? undefined : known?.get(buildAnswerKey(revisions, query));
        return answer === undefined ? [] : [[query!, answer]];
      }),
    );
  }

  dropAnswers(deployment: string): void {
    this.#answers.delete(deployment);
  }

  async #compare(
    deployment: string,
    { query, ...revisions }: Revisions & { query: string },
    signal: AbortSignal,
  ): Promise<void> {
    if (signal.aborted) return;
    const at = this.#clock();
    const [namespace = '', name = ''] = deployment.split('/');
    const askAbout = (revision: string): Promise<PromValue> =>
      this.#fetchValue(expandQuery(query, { namespace, deployment: name, revision }), {
        at,
        signal,
      });
    const [candidate, stable] = await Promise.all([
      askAbout(revisions.candidate),
      askAbout(revisions.stable),
    ]);
    const known = this.#answers.get(deployment) ?? new Map<string, QueryAnswer>();
    // Answers about other revisions are of no use, and each new one would bring some.
    for (const key of known.keys())
      if (!key.startsWith(buildAnswerKey(revisions, ''))) known.delete(key);
    known.set(buildAnswerKey(revisions, query), {
      at,
      ...mergeAnswers({ candidate, stable }, revisions),
    });
    this.#answers.set(deployment, known);
  }

  async #fetchValue(
    query: string,
    { at, signal }: { at: number; signal: AbortSignal },
  ): Promise<PromValue> {
    const { url, log } = this.#options;
    try {
      const answer = await fetch(`${url}/api/v1/query`, {
        method: 'POST',
        body: new URLSearchParams({
          query,
          time: String(at / 1000),
          timeout: `${PATIENCE / 1000}s`,
        }),
        signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE)]),
        redirect: 'error',
      });
      const bytes = await readBoundedBytes(answer.body ?? [], MOST_BYTES);
      if (bytes === undefined) return { lacks: 'Prometheus answers with more than a number' };
      const json = parseJsonOr(bytes.toString('utf8'), undefined);
      return json === undefined
        ? { lacks: `Prometheus answers ${answer.status}` }
        : parsePromValue(json);
    } catch (error) {
      log.debug({ err: toError(error), url }, 'Prometheus could not be asked');
      return { lacks: 'Prometheus does not answer' };
    }
  }
}

const SERVERLESS = 'the installation names no Prometheus server (settings.prometheus.url)';

/** Returns that no query gets an answer, at any time. */
export const buildUnansweredQueries = ({
  checks,
}: {
  checks: readonly { query?: string }[];
}): ReadonlyMap<string, QueryAnswer> =>
  new Map(
    checks.flatMap(({ query }) =>
      query === undefined ? [] : [[query, { at: Infinity, lacks: SERVERLESS }]],
    ),
  );

const buildAnswerKey = ({ candidate, stable }: Revisions, query: string): string =>
  `${candidate} ${stable} ${query}`;

/** Returns the numbers of both revisions, or why one is missing. */
function mergeAnswers(
  values: { candidate: PromValue; stable: PromValue },
  names: Revisions,
): { candidate: number; stable: number } | { lacks: string } {
  const { candidate, stable } = values;
  if ('lacks' in candidate) return { lacks: `${candidate.lacks} (${names.candidate})` };
  if ('lacks' in stable) return { lacks: `${stable.lacks} (${names.stable})` };
  return { candidate: candidate.value, stable: stable.value };
}
