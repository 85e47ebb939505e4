import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Condition } from '../../../schema/platform/objects/conditions.ts';
import { useApp } from '../shell/app.ts';
import { CopyButton } from '../shell/copy-button.tsx';
import { Table } from '../shell/table.tsx';
import { Time } from '../shell/time.tsx';
import type { DeploymentDetail } from './deployment-detail.ts';
import { FoldedText, Skeleton } from '../shell/controls.tsx';
import { describeFailure } from '../api/failure-text.ts';

/** The conditions, and the resource as kubectl shows it. */
export function ResourceShown({ detail }: { detail: DeploymentDetail }) {
  const { calls } = useApp();
  const yaml = useSignal('');
  const { value: details } = detail.details;
  useEffect(() => {
    const path = `v2/deployments/${encodeURIComponent(detail.id)}/resource`;
    calls.fetchText(path, { headers: { accept: 'application/yaml' } }).then(
      (text) => (yaml.value = text),
      (error: unknown) => (yaml.value = `# ${describeFailure(error)}`),
    );
  }, [details?.version]);
  if (details === undefined) return null;
  const line = `kubectl get deployments.gx.dev ${details.name} -n ${details.namespace} -o yaml`;
  return (
    <>
      <Conditions conditions={details.conditions} />
      <section>
        <h2>Resource</h2>
        <p>
          <code>{line}</code> <CopyButton text={line} label="Copy the command" />
        </p>
        {yaml.value === '' ? (
          <Skeleton lines={6} />
        ) : (
          <pre tabIndex={0} aria-label="YAML of the resource">
            {yaml.value}
          </pre>
        )}
      </section>
    </>
  );
}

function Conditions({ conditions }: { conditions: readonly Condition[] }) {
  const rows = conditions.map(({ type, status, reason, message, lastTransitionTime: since }) => ({
    key: type,
    cells: [type, status, reason, <FoldedText text={message} />, <Time at={since} />],
  }));
  return (
    <section>
      <h2>Conditions</h2>
      <Table
        heads={['Type', 'Status', 'Reason', 'Message', 'Since']}
        sentences="Message"
        rows={rows}
      />
    </section>
  );
}
