import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { toError, Problem, Unavailable } from '../errors.ts';
import { SharedAnswers } from '../http/limits/shared-answers.ts';
import { kinds } from '../kube/kinds.ts';
import type { Kube, KubeObject } from '../kube/kube.ts';
import type { Log } from '../log.ts';
import { API_VERSION } from '../schema/platform/objects/api-group.ts';
import { WAKE } from '../schema/platform/objects/labels.ts';
import type { KnownDeployment, KnownDeployments } from './known-deployments.ts';

/** Milliseconds between two tries to reach a deployment that wakes, and those that one may take. */
const PAUSE = 100;
const PATIENCE = 1000;
/** Milliseconds between two tries to ask for it. */
const RETRY = 500;

/** Where the api pods of a deployment answer. */
export type AgentPlace = { host: string; port: number };

type Options = {
  kube: Kube;
  known: KnownDeployments;
  placeOf: (deployment: KnownDeployment) => AgentPlace;
  holdSeconds: number;
  log: Log;
};

/** Returns an error that says when to come back. */
export const buildRetryLater = (message: string, seconds: number): Problem =>
  new Problem(503, message, { headers: { 'retry-after': String(seconds) } });

/** Wakes deployments, each once for all who ask at a time, and waits until they answer. */
export class Waking {
  readonly #options: Options;
  readonly #underWay = new SharedAnswers<AgentPlace>();
  /** The sleep that was last asked to end, by deployment. */
  readonly #asked = new Map<string, string>();
  #woken = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  /** How often a sleep was asked to end. */
  get count(): number {
    return this.#woken;
  }

  /** Resolves with where a deployment answers, once it does. Throws a 503 if it takes too long. */
  waitForPlace(key: string): Promise<AgentPlace> {
    return this.#underWay.getOrAsk(key, () => this.#wake(key));
  }

  async #wake(key: string): Promise<AgentPlace> {
    const until = performance.now() + this.#options.holdSeconds * 1000;
    let askAt = 0;
    while (performance.now() < until) {
      const deployment = this.#options.known.get(key);
      if (deployment === undefined) throw new Problem(404, 'There is no such deployment.');
      if (deployment.asleepSince !== undefined && performance.now() >= askAt) {
        await this.#ask(deployment, deployment.asleepSince);
        askAt = performance.now() + RETRY;
      }
      const place = this.#options.placeOf(deployment);
      if (await isReached(place)) return place;
      await wait(PAUSE);
    }
    throw buildRetryLater('The deployment is waking and does not answer yet.', 5);
  }

  /** Names the sleep that is to end. Naming it again changes nothing. */
  async #ask({ key, namespace, name }: KnownDeployment, since: string): Promise<void> {
    const { kube, log } = this.#options;
    if (this.#asked.get(key) === since) return;
    try {
      const metadata = { name, namespace, annotations: { [WAKE]: since } };
      await kube.apply<KubeObject>(kinds.deployment, {
        apiVersion: API_VERSION,
        kind: 'Deployment',
        metadata,
      });
      this.#asked.set(key, since);
      this.#woken += 1;
      log.info({ namespace, name, asleep_since: since }, 'a request wakes a deployment');
    } catch (error) {
      log.warn(
        { err: toError(error), namespace, name },
        'a deployment could not be woken; this will be tried again',
      );
      if (error instanceof Unavailable) return;
      if (error instanceof Problem) throw buildRetryLater("The deployment can't be woken now.", 10);
      throw error;
    }
  }
}

const isReached = ({ host, port }: AgentPlace): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host, port, timeout: PATIENCE });
    const end = (reached: boolean) => (): void => {
      socket.destroy();
      resolve(reached);
    };
    socket.once('connect', end(true)).once('timeout', end(false)).once('error', end(false));
  });
