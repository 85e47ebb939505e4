import { useApp } from './app.ts';
import { Time } from './time.tsx';

/** Says at all times whether the page shows the present. */
export function ConnectionState() {
  const { connection, store } = useApp();
  const { value } = connection;
  const loaded = store.value.loaded.value;
  const isCatchingUp = value.kind === 'connecting' || (value.kind === 'live' && loaded !== 'all');
  const kind = value.kind === 'offline' ? 'offline' : isCatchingUp ? 'catching-up' : 'live';
  return (
    <p class={`connection ${kind}`} role="status">
      <span class="dot" aria-hidden="true" />
      {kind === 'live' && 'Live'}
      {kind === 'catching-up' && 'Catching up'}
      {value.kind === 'offline' && (
        <span>
          No connection since <Time at={new Date(value.since).toISOString()} />
        </span>
      )}
    </p>
  );
}
