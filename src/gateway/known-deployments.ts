import { timingSafeEqual } from 'node:crypto';
import { Cache } from '../kube/cache.ts';
import { kinds } from '../kube/kinds.ts';
import type { ConfigMapObject, Kube } from '../kube/kube.ts';
import { Limiter } from '../http/limits/limiter.ts';
import { Reflector, type WatchState } from '../kube/watch.ts';
import type { Log } from '../log.ts';
import { hashGatewayKey } from '../schema/wire/agent-key.ts';
import { ASKED_OPEN, UNAUTHENTICATED } from '../schema/platform/objects/conditions.ts';
import type { DeploymentResource } from '../schema/platform/resources/custom-resources.ts';
import { isOperatorKey, OPERATOR_KEY_ENTRY } from '../schema/wire/operator-key.ts';
import { GATEWAY_KEYS_ENTRY, parseGatewayKeys } from '../schema/wire/gateway-key.ts';
import { buildGateId, type CandidateRevision } from '../schema/platform/rollout/rollout-spec.ts';
import { findComparedRevisions, parseGateInput } from '../schema/platform/rollout/rollout-trial.ts';
import type { RolloutGate, RolloutPlan } from '../schema/wire/rollout-plan.ts';
import {
  parseKeptPorts,
  PORTS_CONFIG_MAP,
  PORTS_KEY,
  type KeptPorts,
} from '../schema/platform/objects/kept-ports.ts';
import { dropUndefined } from '../schema/json.ts';

/** `namespace` is the platform's own. */
type Options = { kube: Kube; log: Log; namespace: string; namespaces: string[] };

/** Returns the parts of a deployment that the gateway reads. The rest of ten thousand would be most of its memory. */
function trimDeployment({
  apiVersion,
  kind,
  metadata,
  spec,
  status = {},
}: DeploymentResource): DeploymentResource {
  const { name, namespace, uid, resourceVersion } = metadata;
  const { auth } = spec.template.sourceRevisionConfig ?? {};
  const kept = dropUndefined({
    keyHashes: status.keyHashes,
    asleepSince: status.asleepSince,
    rollout: status.rollout,
  });
  const conditions = status.conditions?.filter(({ type }) => type === UNAUTHENTICATED);
  return {
    apiVersion,
    kind,
    metadata: { ...dropUndefined({ namespace, uid, resourceVersion }), name },
    spec: {
      ...dropUndefined({ id: spec.id, suspend: spec.suspend, rollout: trimRollout(spec, status) }),
      source: spec.source,
      template: auth === undefined ? {} : { sourceRevisionConfig: { auth } },
    },
    status: { ...kept, ...(conditions !== undefined && conditions.length > 0 && { conditions }) },
  };
}

/** Returns the gate that a revision is at, and one of the checks: that there are some is all that is asked here. */
const trimRollout = (
  spec: DeploymentResource['spec'],
  status: NonNullable<DeploymentResource['status']>,
) =>
  status.rollout?.candidate &&
  dropUndefined({
    gate: isAtGate(status) ? spec.rollout?.gate : undefined,
    checks: spec.rollout?.checks?.slice(0, 1),
  });

const isAtGate = ({ rollout }: NonNullable<DeploymentResource['status']>): boolean =>
  rollout?.candidate?.gate !== undefined && rollout.candidate.gate.passed !== true;

export type KnownDeployment = {
  /** `namespace/name`. */
  key: string;
  namespace: string;
  name: string;
  uid: string;
  /** The id as REST shows it. */
  id: string;
  /** The port at which the gateway answers in its place. Undefined: it never sleeps. */
  port: number | undefined;
  asleepSince: string | undefined;
  /** True if it asks for agents that let everybody in. The word of its pods is not enough. */
  isOpen: boolean;
  /** The plan of its revisions, which its agents get. Undefined while it is not decided. */
  rollout?: RolloutPlan | undefined;
  compared?: { candidate: string; stable: string } | undefined;
  auth: NonNullable<DeploymentResource['spec']['template']['sourceRevisionConfig']>['auth'];
  /** Returns true if the text is one of its keys. Its time reveals nothing about the key. */
  isOpenedBy: (text: string) => boolean;
};

/**
 * The deployments of the watched namespaces, as their resources describe them. A ConfigMap that only the operator
 * writes holds the ports, because anyone who may write a status could take the requests of others.
 */
export class KnownDeployments {
  readonly #cache = new Cache<DeploymentResource>();
  readonly #portsObject = new Cache<ConfigMapObject>();
  readonly #watches: Pick<Reflector, 'start' | 'synced' | 'stop' | 'state'>[];
  /** The ports, by the uid of a deployment. */
  #ports = new Map<string, KeptPorts>();
  #gatewayKeys: string[] = [];
  #operatorKeyHash = '';
  #changed: () => void = () => undefined;

  constructor({ kube, log, namespace: own, namespaces }: Options) {
    const places = namespaces.length === 0 ? [undefined] : namespaces;
    const pages = new Limiter(2);
    const shared = { kube, log, pages };
    this.#watches = [
      new Reflector({
        ...shared,
        namespace: own,
        kind: kinds.configMap,
        cache: this.#portsObject,
        only: PORTS_CONFIG_MAP,
      }),
      ...places.map(
        (namespace) =>
          new Reflector({
            ...shared,
            namespace,
            kind: kinds.deployment,
            cache: this.#cache,
            project: trimDeployment,
          }),
      ),
    ];
    this.#portsObject.addChangeListener(({ after }) => {
      this.#ports = parseKeptPorts(after?.data?.[PORTS_KEY] ?? '');
      this.#gatewayKeys = parseGatewayKeys(after?.data?.[GATEWAY_KEYS_ENTRY] ?? '');
      this.#operatorKeyHash = after?.data?.[OPERATOR_KEY_ENTRY] ?? '';
      this.#changed();
    });
    this.#cache.addChangeListener(({ before, after }) => {
      if (before?.metadata.uid !== after?.metadata.uid) this.#changed();
    });
  }

  /** Starts to watch. Resolves when all deployments are known. */
  async start(): Promise<void> {
    for (const watch of this.#watches) watch.start();
    await Promise.all(this.#watches.map(({ synced }) => synced));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#watches.map((watch) => watch.stop()));
  }

  listWatches(): WatchState[] {
    return this.#watches.map(({ state }) => state);
  }

  get size(): number {
    return this.#cache.size;
  }

  /** The keys by which the processes of the gateway sign, as the operator has heard them. */
  get gatewayKeys(): readonly string[] {
    return this.#gatewayKeys;
  }

  /** Returns whether a text is the key of the operator that leads. */
  isOfOperator(key: string): boolean {
    return isOperatorKey(key, this.#operatorKeyHash);
  }

  setSleeperListener(changed: () => void): void {
    this.#changed = changed;
  }

  listSleepers(): KnownDeployment[] {
    return this.#cache
      .list()
      .map((object) => toKnownDeployment(object, this.#ports))
      .filter(({ port }) => port !== undefined);
  }

  get(key: string): KnownDeployment | undefined {
    const found = this.#cache.get(key);
    return found && toKnownDeployment(found, this.#ports);
  }
}

function toKnownDeployment(
  { metadata, spec, status = {} }: DeploymentResource,
  ports: ReadonlyMap<string, KeptPorts>,
): KnownDeployment {
  const { namespace = '', name, uid = '' } = metadata;
  return {
    key: `${namespace}/${name}`,
    namespace,
    name,
    uid,
    id: spec.id ?? uid,
    port: ports.get(uid)?.gateway,
    asleepSince: status.asleepSince,
    isOpen:
      status.conditions?.some(
        ({ type, reason, status: is }) =>
          type === UNAUTHENTICATED && is === 'True' && reason === ASKED_OPEN,
      ) === true,
    rollout: toRolloutPlan(spec, status),
    compared: findComparedRevisions({ spec, status }),
    auth: spec.template.sourceRevisionConfig?.auth,
    isOpenedBy: (text) => isAmong(status.keyHashes ?? [], text),
  };
}

function toRolloutPlan(
  spec: DeploymentResource['spec'],
  { rollout }: NonNullable<DeploymentResource['status']>,
): RolloutPlan | undefined {
  if (rollout === undefined) return undefined;
  const { madeAt, current, living, draining, candidate } = rollout;
  const aborted = draining.filter((each) => each.aborted === true).map(({ revision }) => revision);
  return {
    made_at: madeAt,
    current,
    living,
    draining: draining.map(({ revision }) => revision),
    ...(candidate && {
      candidate: {
        revision: candidate.revision,
        share: candidate.share,
        by: candidate.by,
        ...readGate(spec, candidate),
      },
    }),
    ...(aborted.length > 0 && { aborted }),
  };
}

function readGate(
  { rollout }: DeploymentResource['spec'],
  candidate: CandidateRevision,
): { gate?: RolloutGate } {
  if (rollout?.gate === undefined || candidate.gate === undefined || candidate.gate.passed === true)
    return {};
  const input = parseGateInput(rollout.gate);
  return input === undefined
    ? {}
    : {
        gate: {
          id: buildGateId(candidate, candidate.gate),
          assistant: rollout.gate.assistant,
          input,
        },
      };
}

function isAmong(hashes: readonly string[], text: string): boolean {
  const shown = Buffer.from(hashGatewayKey(text));
  let found = false;
  for (const hash of hashes) {
    const known = Buffer.from(hash);
    found = (known.length === shown.length && timingSafeEqual(known, shown)) || found;
  }
  return found;
}
