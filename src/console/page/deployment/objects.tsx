import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type {
  DeploymentKubeEvent,
  DeploymentPod,
} from '../../../schema/platform/objects/deployment-objects.ts';
import { useApp } from '../shell/app.ts';
import { Table } from '../shell/table.tsx';
import { Time } from '../shell/time.tsx';
import type { DeploymentDetail } from './deployment-detail.ts';
import { describeFailure } from '../api/failure-text.ts';
import { EmptyState, Fault, FoldedText, Skeleton } from '../shell/controls.tsx';

/** Milliseconds between two looks, while the page is seen. */
const EVERY = 10_000;

type FoundObjects = { pods: DeploymentPod[]; events: DeploymentKubeEvent[]; complete: boolean };

/** The pods of the deployment and its events. Both are read again every ten seconds. */
export function Objects({ detail }: { detail: DeploymentDetail }) {
  const { calls } = useApp();
  const found = useSignal<FoundObjects | undefined>(undefined);
  const refused = useSignal<string | undefined>(undefined);
  useEffect(() => {
    const leaving = new AbortController();
    const path = `v2/deployments/${encodeURIComponent(detail.id)}`;
    const { signal } = leaving;
    const read = async (): Promise<void> => {
      if (document.hidden || detail.goneAt.value !== undefined) return;
      try {
        const [{ resources: pods }, { resources: events, complete }] = await Promise.all([
          calls.fetchJson<{ resources: DeploymentPod[] }>(`${path}/pods`, { signal }),
          calls.fetchJson<{ resources: DeploymentKubeEvent[]; complete: boolean }>(
            `${path}/kube-events`,
            { signal },
          ),
        ]);
        found.value = { pods, events, complete };
        refused.value = undefined;
      } catch (error) {
        if (!signal.aborted) refused.value = describeFailure(error);
      }
    };
    void read();
    const timer = setInterval(() => void read(), EVERY);
    return () => {
      clearInterval(timer);
      leaving.abort();
    };
  }, [detail]);
  const { value: shown } = found;
  return (
    <>
      <Fault text={refused.value} />
      {shown === undefined ? <Skeleton lines={6} /> : <Pods pods={shown.pods} detail={detail} />}
      {shown !== undefined && <Events {...shown} />}
    </>
  );
}

function Pods({ pods, detail }: { pods: readonly DeploymentPod[]; detail: DeploymentDetail }) {
  const { latest_revision: latest, active_revision: active } = detail.details.value ?? {};
  const numbers = new Map([latest, active].map((revision) => [revision?.id, revision?.number]));
  const rows = pods.map(
    ({
      name,
      component,
      revision_id: revision,
      ready,
      phase,
      restarts,
      reason,
      message,
      node,
      created_at: since,
    }) => ({
      key: name,
      cells: [
        name,
        component,
        revision === null ? '' : (numbers.get(revision) ?? revision.slice(0, 8)),
        <span class={ready ? 'word yes' : 'word no'}>
          {ready ? '✓ yes' : phase === 'Running' ? '✗ no' : `✗ no, ${phase}`}
        </span>,
        restarts,
        reason !== null || message !== null ? (
          <>
            {reason !== null && <strong>{reason}</strong>}{' '}
            {message !== null && <FoldedText text={message} />}
          </>
        ) : null,
        node,
        <Time at={since} />,
      ],
    }),
  );
  const heads = ['Pod', 'Part', 'Revision', 'Ready', 'Restarts', 'Reason', 'Node', 'Since'];
  return (
    <section>
      <h2>Pods</h2>
      {rows.length === 0 ? (
        <EmptyState icon="layers" title="No pods now." />
      ) : (
        <Table heads={heads} names="mono whole" sentences="Reason" rows={rows} />
      )}
    </section>
  );
}

function Events({ events, complete }: Pick<FoundObjects, 'events' | 'complete'>) {
  return (
    <section>
      <h2>Events</h2>
      {!complete && (
        <p class="note">The namespace has more events than can be read, so some may be missing.</p>
      )}
      {events.length === 0 ? (
        <EmptyState icon="clock" title="No events.">
          <p>Kubernetes forgets one after an hour.</p>
        </EmptyState>
      ) : (
        <Table heads={['Last seen', 'Type', 'Reason', 'Object', 'Message', 'Count']}>
          {events.map(({ type, reason, note, object, count, last_seen_at: at }, index) => (
            <tr key={index} class={type === 'Warning' ? 'warning' : ''}>
              <td data-head="Last seen">
                <Time at={at} />
              </td>
              <td data-head="Type">{type}</td>
              <td data-head="Reason">{reason}</td>
              <td class="mono" data-head="Object">
                {object.kind} {object.name}
              </td>
              <td class="text" data-head="Message">
                <FoldedText text={note} />
              </td>
              <td data-head="Count">{count}</td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  );
}
