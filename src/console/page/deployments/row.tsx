import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { DeploymentSummary } from '../../../schema/platform/deployment-summary.ts';
import { useApp } from '../shell/app.ts';
import { Time } from '../shell/time.tsx';
import { shortCommit, sourceText } from './source-text.ts';
import { StateShown } from './state-shown.tsx';

type RowProps = { row: DeploymentSummary; index: number; isActive: boolean; height: number };

/** A row of the list. Of all rows, the link of the active one alone is in the order of the Tab key. */
export function DeploymentRow({ row, index, isActive, height }: RowProps) {
  const link = useRef<HTMLAnchorElement>(null);
  // The focus does not go with the element to another row.
  useLayoutEffect(() => () => link.current?.blur(), [index]);
  return useMemo(() => <Cells row={row} index={index} isActive={isActive} height={height} link={link} />, [row, index, isActive, height]);
}

type CellsProps = RowProps & { link: { current: HTMLAnchorElement | null } };

function Cells({ row, index, isActive, height, link }: CellsProps) {
  const { router } = useApp();
  const { latest_revision: latest } = row;
  return (
    <div role="row" aria-rowindex={index + 2} class="row" style={{ height: `${height}px` }}>
      <div role="gridcell" class="name">
        <a ref={link} href={router.href('deployment', { id: row.id })} tabIndex={isActive ? 0 : -1} data-index={index}>
          {row.name}
        </a>
        <span class="quiet">{row.namespace}</span>
      </div>
      <div role="gridcell" class="how" title={row.message ?? undefined}>
        <StateShown state={row.state} reason={row.reason} suspended={row.suspended} />
        {row.state === 'asleep' && (
          <span class="quiet">{row.next_due_at === null ? 'until it is called' : <Due at={row.next_due_at} />}</span>
        )}
      </div>
      <div role="gridcell" class="revision">
        {latest === null ? '' : `#${latest.number} ${latest.status.toLowerCase().replaceAll('_', ' ')}`}
      </div>
      <div role="gridcell" class="source" title={row.image_uri ?? row.repo_url ?? undefined}>
        {sourceText(row)}
        {row.repo_commit_sha !== null && <code> {shortCommit(row.repo_commit_sha)}</code>}
      </div>
      <div role="gridcell" class="version">
        {row.image_version ?? ''}
      </div>
      <Work row={row} />
      <div role="gridcell" class="updated">
        <Time at={row.updated_at} />
      </div>
    </div>
  );
}

const Work = ({ row: { queue, interrupted_threads: people } }: Pick<RowProps, 'row'>) => (
  <>
    <div role="gridcell" class="queue" title="Queue pods that are ready, of those wanted">
      {queue.wanted === null ? '' : `${queue.ready ?? 0}/${queue.wanted}`}
    </div>
    <div role="gridcell" class="people" title="Threads that wait for somebody to answer">
      {(people ?? 0) === 0 ? '' : people}
    </div>
  </>
);

const Due = ({ at }: { at: string }) => (
  <>
    next work <Time at={at} />
  </>
);
