import { useSignal } from '@preact/signals';
import { useApp } from '../shell/app.ts';
import { CopyButton } from '../shell/copy-button.tsx';
import { Time } from '../shell/time.tsx';
import type { DeploymentDetail } from './deployment-detail.ts';
import { useWrite } from './write.ts';
import { WriteNotes } from './write-notes.tsx';
import { Button } from '../shell/controls.tsx';

/** The answer's field that is shown. The type of the whole answer stands in a file for servers. */
type AgentKey = { api_key: string };

/** The key that opens the agents, for those who ask, and its rotation. */
export function AgentKeyShown({ detail }: { detail: DeploymentDetail }) {
  const { calls } = useApp();
  const { run, isOff, refused } = useWrite(detail);
  const shown = useSignal<AgentKey | undefined>(undefined);
  const path = `v2/deployments/${encodeURIComponent(detail.id)}/key`;
  const until = detail.details.value?.key.previous_until ?? null;
  const show = (): Promise<boolean> => run(async () => (shown.value = await calls.json<AgentKey>(path)), 'The key is shown.');
  const rotate = (): Promise<boolean> => {
    shown.value = undefined;
    return run(() => calls.json(`${path}/rotate`, { method: 'POST' }), 'A new key was made. Pods know it within two minutes.');
  };
  return (
    <section>
      <h2>Key of the agents</h2>
      {refused !== undefined && <WriteNotes detail={detail} refused={refused} />}
      {until !== null && (
        <p class="note">
          The key before the present one opens the agents until <Time at={until} />.
        </p>
      )}
      {shown.value !== undefined && (
        <p>
          <code>{shown.value.api_key}</code> <CopyButton text={shown.value.api_key} label="Copy the key" />
        </p>
      )}
      <div class="actions">
        <Button
          disabled={isOff}
          label={shown.value === undefined ? 'Show the key' : 'Hide the key'}
          press={() => (shown.value === undefined ? void show() : (shown.value = undefined))}
        />
        <Button disabled={isOff} label="Rotate the key" press={() => rotate()} />
      </div>
    </section>
  );
}
