import { useComputed, useSignal, type Signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import type { DeploymentState } from '../../../schema/platform/deployment/deployment-summary.ts';
import { useApp } from './app.ts';
import { Icon } from './icon.tsx';
import type { IconName } from './icons.ts';
import type { Router } from './router.ts';
import type { PlaceName } from './routes.ts';
import { FaultShown } from './fault-wall.tsx';
import { useKeys } from './keys.ts';
import { SignIn } from './sign-in.tsx';
import { Time } from './time.tsx';
import { Dialog } from './dialog.tsx';
import { KEY_COMMANDS, STUDIO_KEYS } from './key-commands.ts';
import { Fault, Button } from './controls.tsx';
import { Table } from './table.tsx';
import { THEMES } from './preferences.ts';
import { TIME_MODES } from './time-text.ts';

/** The rooms of the console, which the frame shows and does not know. */
export type Rooms = {
  Deployments: ComponentType;
  Deployment: ComponentType<{ id: string; tab: Exclude<PlaceName, 'deployments' | 'usage'> }>;
  Usage: ComponentType;
  /** Goes to a deployment by some letters of its name. */
  Jump: ComponentType<{ close: () => void }>;
};

/** The frame of all places: where one is, whether the page is live, and who one is. */
export function Shell({ rooms }: { rooms: Rooms }) {
  const { session, fault } = useApp();
  if (session.value === undefined)
    return fault.value === undefined ? (
      <main aria-busy="true" />
    ) : (
      <FaultShown fault={fault.value} />
    );
  return session.value.signed_in ? <Frame rooms={rooms} /> : <SignIn />;
}

function Frame({ rooms }: { rooms: Rooms }) {
  const app = useApp();
  const { router, fault } = app;
  const isHelping = useSignal(false);
  const isJumping = useSignal(false);
  useKeys({
    help: () => (isHelping.value = true),
    jump: () => (isJumping.value = true),
    deployments: () => router.visit('deployments', {}),
    up: () => router.located.value.place?.name !== 'deployments' && router.visit('deployments', {}),
  });
  useFocusOnHeading();
  return (
    <>
      <a class="skip" href="#content" onClick={skip}>
        Skip to the content
      </a>
      <div class={isStudio(router) ? 'app rail' : 'app'}>
        <header class="top">
          <a class="brand" href={router.buildHref('deployments', {})} aria-label="gx console">
            <Icon name="layers" /> <span>gx</span>
          </a>
          <button
            type="button"
            class="find"

            onClick={() => (isJumping.value = true)}
          >
            <Icon name="search" /> <span>Go to …</span> <kbd>Ctrl K</kbd>
          </button>
          <Views />
          <div class="foot">
            <Tenants />
            <ConnectionState />
            <Menu help={() => (isHelping.value = true)} />
          </div>
        </header>
        <div id="content" tabIndex={-1}>
          <Fault text={fault.value} />
          <Places rooms={rooms} />
        </div>
      </div>
      <Notice />
      {isJumping.value && <rooms.Jump close={() => (isJumping.value = false)} />}
      {isHelping.value && <Help close={() => (isHelping.value = false)} />}
    </>
  );
}

function Notice() {
  const app = useApp();
  const { value: sentence } = app.notice;
  const { value: undo } = app.undo;
  const takeBack = (): void => {
    app.dismiss();
    undo?.();
  };
  return (
    <div class={sentence === '' ? 'unseen' : 'notice'} role="status">
      <span>{sentence}</span>
      {undo !== undefined && <Button label="Undo" press={takeBack} />}
    </div>
  );
}

const isStudio = ({ located }: Router): boolean =>
  ['studio', 'studioPart'].includes(located.value.place?.name ?? '');

/** The list as one looks at it most, with the number of rows of each view. */
const VIEWS: readonly { label: string; icon: IconName; states: readonly DeploymentState[] }[] = [
  { label: 'Deployments', icon: 'list', states: [] },
  { label: 'Needs attention', icon: 'alert', states: ['failed', 'unavailable'] },
  { label: 'In motion', icon: 'turn', states: ['rolling_out', 'waiting'] },
  { label: 'At rest', icon: 'moon', states: ['asleep', 'hibernated'] },
];

function Views() {
  const { router, store } = useApp();
  const counts = useComputed(() => {
    void store.value.changed.value;
    const found = new Map<string, number>();
    for (const { state } of store.value.all.values()) found.set(state, (found.get(state) ?? 0) + 1);
    return found;
  });
  const shown = router.query.value.getAll('state').toSorted().join();
  const isList = router.located.value.place?.name === 'deployments';
  const isUsage = router.located.value.place?.name === 'usage';
  return (
    <nav aria-label="Places">
      {VIEWS.map(({ label, icon, states }) => {
        const query = states.map((state) => `state=${state}`).join('&');
        const count = states.reduce((sum, state) => sum + (counts.value.get(state) ?? 0), 0);
        const isShown = isList && states.toSorted().join() === shown;
        return (
          <a
            key={label}
            href={`${router.buildHref('deployments', {})}${query === '' ? '' : `?${query}`}`}
            aria-current={
              isShown ? 'page' : !isList && !isUsage && states.length === 0 ? 'true' : undefined
            }
            title={label}
          >
            <Icon name={icon} /> <span>{label}</span>
            {count > 0 && <span class={`count ${icon}`}>{count}</span>}
          </a>
        );
      })}
      <a
        href={router.buildHref('usage', {})}
        aria-current={isUsage ? 'page' : undefined}
        title="Usage"
      >
        <Icon name="spark" /> <span>Usage</span>
      </a>
    </nav>
  );
}

function skip(event: Event): void {
  event.preventDefault();
  document.querySelector<HTMLElement>('#content')?.focus();
}

/** The focus goes to the heading of a place that is gone to, so that a screen reader reads where one is. */
function useFocusOnHeading(): void {
  const { router } = useApp();
  const place = JSON.stringify(router.located.value.place);
  const first = useSignal(place);
  useEffect(() => {
    if (first.peek() === place) return;
    first.value = '';
    document.querySelector<HTMLElement>('h1')?.focus();
  }, [place]);
}

function ConnectionState() {
  const { connection, store } = useApp();
  const { value } = connection;
  const loaded = store.value.loaded.value;
  const isCatchingUp = value.kind === 'connecting' || (value.kind === 'live' && loaded !== 'all');
  const kind = value.kind === 'offline' ? 'offline' : isCatchingUp ? 'catching-up' : 'live';
  return (
    <p class={`connection ${kind}`} role="status">
      <span class="dot" aria-hidden="true" />
      {kind === 'live' && <span>Live</span>}
      {kind === 'catching-up' && <span>Catching up</span>}
      {value.kind === 'offline' && (
        <span>
          No connection since <Time at={new Date(value.since).toISOString()} isDate />
        </span>
      )}
    </p>
  );
}

function Help({ close }: { close: () => void }) {
  return (
    <Dialog title="Keys" close={close}>
      <Table class="keys" heads={['Key', 'Does']}>
        {Object.entries(KEY_COMMANDS).map(([name, { keys, does }]) => (
          <tr key={name}>
            <td>
              <kbd>{keys}</kbd>
            </td>
            <td>{does}</td>
          </tr>
        ))}
        {STUDIO_KEYS.map(([keys, does]) => (
          <tr key={does}>
            <td>
              <kbd>{keys}</kbd>
            </td>
            <td>{does}</td>
          </tr>
        ))}
      </Table>
      <p>Single-key shortcuts can be turned off in the settings.</p>
    </Dialog>
  );
}

/** The tenants of the reader, if there are several. The address names the one that is shown. */
function Tenants() {
  const { session, router } = useApp();
  const { tenants = [], tenant_id: own } = session.value ?? {};
  if (tenants.length < 2) return null;
  const shown = router.located.value.tenant ?? own;
  return (
    <label class="tenants">
      <span class="unseen">Tenant</span>
      <select
        value={shown}
        onChange={({ currentTarget }) =>
          router.visitHref(`t/${encodeURIComponent(currentTarget.value)}/`)
        }
      >
        {tenants.map((tenant) => (
          <option key={tenant} value={tenant}>
            {tenant}
          </option>
        ))}
      </select>
    </label>
  );
}

function Places({ rooms: { Deployments, Deployment, Usage } }: { rooms: Rooms }) {
  const { router } = useApp();
  const { place } = router.located.value;
  if (place === undefined) return <Nowhere />;
  if (place.name === 'deployments') return <Deployments />;
  if (place.name === 'usage') return <Usage />;
  return <Deployment key={place.parameters.id} id={place.parameters.id} tab={place.name} />;
}

function Nowhere() {
  const { router } = useApp();
  return (
    <main class="empty">
      <h1 tabIndex={-1}>There is no such page</h1>
      <a href={router.buildHref('deployments', {})}>Go to the deployments</a>
    </main>
  );
}

const WORDS: Record<string, string> = { utc: 'UTC' };

function Choice<Value extends string>({
  label,
  values,
  chosen,
}: {
  label: string;
  values: readonly Value[];
  chosen: Signal<Value>;
}) {
  return (
    <fieldset class="choice">
      <legend>{label}</legend>
      {values.map((value) => (
        <label key={value}>
          <input
            type="radio"
            name={label}
            checked={chosen.value === value}
            onChange={() => (chosen.value = value)}
          />{' '}
          {WORDS[value] ?? value.charAt(0).toUpperCase() + value.slice(1)}
        </label>
      ))}
    </fieldset>
  );
}

function Menu({ help }: { help: () => void }) {
  const app = useApp();
  const { theme, time, singleKeys } = app.preferences;
  const { name, role } = app.session.value ?? {};
  return (
    <details class="menu">
      <summary>
        <Icon name="gear" /> <span>Settings</span>
      </summary>
      <div class="sheet">
        <p>
          Signed in as <strong>{name}</strong> ({role})
        </p>
        <Choice label="Theme" values={THEMES} chosen={theme} />
        <Choice label="Times" values={TIME_MODES} chosen={time} />
        <Choice label="Single-key shortcuts" values={['on', 'off']} chosen={singleKeys} />
        <Button label="Keys" press={help} />
        <Button label="Sign out" press={() => app.leave()} />
      </div>
    </details>
  );
}
