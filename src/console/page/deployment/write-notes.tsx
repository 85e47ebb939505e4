import { useApp } from '../shell/app.ts';
import type { DeploymentDetail } from './deployment-detail.ts';
import { Fault } from '../shell/controls.tsx';

/** Warns before a change: another tool takes it back, or the reader may not make it. */
export function WriteNotes({
  detail,
  refused,
}: {
  detail: DeploymentDetail;
  refused?: string | undefined;
}) {
  const app = useApp();
  const { value: manager } = detail.manager;
  return (
    <>
      {manager !== undefined && app.mayWrite && (
        <p class="note">
          {manager.tool} keeps this deployment ({manager.name}). It may take back a change that is
          made here: change the repository instead.
        </p>
      )}
      {!app.mayWrite && <p class="note">Your key may only read, so changes are turned off.</p>}
      <Fault text={refused} />
    </>
  );
}
