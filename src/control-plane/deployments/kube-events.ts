import { kinds } from '../../kube/kinds.ts';
import type { KubeObject } from '../../kube/kube.ts';
import { names } from '../../schema/names.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import type { DeploymentKubeEvent } from '../../schema/platform/objects/deployment-objects.ts';
import type { ControlPlane } from '../control-plane.ts';

type KubeEvent = KubeObject & {
  type?: string;
  reason?: string;
  note?: string;
  regarding?: { kind?: string; name?: string; uid?: string };
  eventTime?: string | null;
  series?: { count: number; lastObservedTime: string };
  deprecatedCount?: number;
  deprecatedLastTimestamp?: string | null;
};

/** Events of a namespace that are read at most, and those of a page. */
const PAGE = 500;
const PAGES = 10;
/** Events that are shown at most. */
const MOST = 200;

/**
 * Returns the events of a deployment's objects, the last one first: at most 200. They are incomplete where the
 * namespace has more than 5,000. Kubernetes forgets an event after an hour.
 */
export async function listKubeEvents(
  { kube, stored }: ControlPlane,
  deployment: DeploymentResource,
  signal: AbortSignal,
): Promise<{ events: DeploymentKubeEvent[]; complete: boolean }> {
  const revisions = stored.listRevisions(deployment);
  const uids = new Set([deployment, ...revisions].map(({ metadata }) => metadata.uid));
  const isChild = buildChildMatcher(
    deployment,
    revisions.map(({ metadata }) => metadata.name),
  );
  const found: KubeEvent[] = [];
  const { namespace } = deployment.metadata;
  let rest: string | undefined;
  for (let page = 0; page < PAGES; page += 1) {
    const options = {
      ...(namespace !== undefined && { namespace }),
      limit: PAGE,
      ...(rest !== undefined && { continue: rest }),
    };
    const { items, continue: next } = await kube.list(kinds.event, options, signal);
    found.push(
      ...(items as KubeEvent[]).filter(
        ({ regarding = {} }) => uids.has(regarding.uid) || isChild(regarding.name ?? ''),
      ),
    );
    rest = next;
    if (rest === undefined) break;
  }
  const events = found
    .map(toKubeEvent)
    .toSorted((one, other) => (one.last_seen_at < other.last_seen_at ? 1 : -1));
  return { events: events.slice(0, MOST), complete: rest === undefined };
}

const OF_WORKLOAD = /^(-[a-z0-9]{1,16}){0,2}$/;
const OF_DATABASE = /^(-\d+|-[a-z]+-\d+(-[a-z0-9]{5})?)?$/;

/**
 * Returns a function that knows the objects which the operator makes for a deployment, and their pods, by their names:
 * an event has no labels, and `chat` has no objects of `chat-2`.
 */
export function buildChildMatcher(
  { metadata: { name } }: DeploymentResource,
  revisions: readonly string[],
): (child: string) => boolean {
  const services = new Set(
    [names.service, names.route, names.directService, names.candidateService].map((of) => of(name)),
  );
  const workloads = revisions.flatMap((revision) => [
    names.apiWorkload(revision),
    names.queueWorkload(revision),
  ]);
  const rests = [
    ...workloads.map((stem) => ({ stem, rest: OF_WORKLOAD })),
    ...[names.database(name), names.store(name)].map((stem) => ({ stem, rest: OF_DATABASE })),
  ];
  return (child) =>
    services.has(child) ||
    rests.some(({ stem, rest }) => child.startsWith(stem) && rest.test(child.slice(stem.length)));
}

const toKubeEvent = (event: KubeEvent): DeploymentKubeEvent => ({
  type: event.type === 'Warning' ? 'Warning' : 'Normal',
  reason: event.reason ?? '',
  note: event.note ?? '',
  object: { kind: event.regarding?.kind ?? '', name: event.regarding?.name ?? '' },
  count: event.series?.count ?? event.deprecatedCount ?? 1,
  last_seen_at: parseTime(event),
});

/** The API server gives an event's time in seconds or microseconds. */
function parseTime({ series, deprecatedLastTimestamp, eventTime, metadata }: KubeEvent): string {
  const text =
    series?.lastObservedTime ??
    deprecatedLastTimestamp ??
    eventTime ??
    metadata.creationTimestamp ??
    '';
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? '' : time.toISOString();
}
