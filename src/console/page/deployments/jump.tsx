import { useSignal } from '@preact/signals';
import type { DeploymentSummary } from '../../../schema/platform/deployment/deployment-summary.ts';
import { listJumpTargets } from './jump-targets.ts';
import { StateShown } from './state-shown.tsx';
import { useApp } from '../shell/app.ts';
import { Dialog } from '../shell/dialog.tsx';

const buildId = (index: number): string => `jump-${index}`;

/** Goes to a deployment by some letters of its name. */
export function Jump({ close }: { close: () => void }) {
  const { router, store } = useApp();
  const text = useSignal('');
  const active = useSignal(0);
  void store.value.changed.value;
  const found = listJumpTargets(store.value.all.values(), text.value);
  const chosen = Math.min(active.value, Math.max(0, found.length - 1));
  const openTarget = (index: number): void => {
    const target = found[index];
    if (target === undefined) return;
    close();
    router.visit('deployment', { id: target.id });
  };
  const press = (event: KeyboardEvent): void => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by !== undefined)
      active.value = Math.min(Math.max(0, chosen + by), Math.max(0, found.length - 1));
    else if (event.key === 'Enter') openTarget(chosen);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Go to a deployment" close={close}>
      <input
        class="jump"
        autofocus
        type="text"
        role="combobox"
        name="jump"
        aria-label="Part of its name"
        aria-expanded="true"
        aria-controls="jump-list"
        aria-autocomplete="list"
        aria-activedescendant={found.length === 0 ? undefined : buildId(chosen)}
        autocomplete="off"
        value={text.value}
        onKeyDown={press}
        onInput={({ currentTarget }) => {
          text.value = currentTarget.value;
          active.value = 0;
        }}
      />
      <Found found={found} chosen={chosen} go={openTarget} />
      {found.length === 0 && <p role="status">No deployment matches.</p>}
    </Dialog>
  );
}

const Found = ({
  found,
  chosen,
  go,
}: {
  found: readonly DeploymentSummary[];
  chosen: number;
  go: (index: number) => void;
}) => (
  <ul id="jump-list" role="listbox" aria-label="Deployments" class="jump-list">
    {found.map((one, index) => (
      <li
        key={one.id}
        id={buildId(index)}
        role="option"
        aria-selected={index === chosen}
        onClick={() => go(index)}
      >
        <strong>{one.name}</strong> <span class="quiet">{one.namespace}</span>{' '}
        <StateShown state={one.state} reason={one.reason} />
      </li>
    ))}
  </ul>
);
