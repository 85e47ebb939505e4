import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { useApp } from './app.ts';
import { ConnectionState } from './connection.tsx';
import { FaultShown } from './fault-wall.tsx';
import { Help } from './help.tsx';
import { useKeys } from './keys.ts';
import { Jump } from './jump.tsx';
import { Menu } from './menu.tsx';
import { Places } from './places.tsx';
import { SignIn } from './sign-in.tsx';
import { Tenants } from './tenants.tsx';

/** The frame of all places: where one is, whether the page is live, and who one is. */
export function Shell() {
  const { session, fault } = useApp();
  if (session.value === undefined)
    return fault.value === undefined ? <main class="empty" aria-busy="true" /> : <FaultShown fault={fault.value} />;
  return session.value.signed_in ? <Frame /> : <SignIn />;
}

function Frame() {
  const app = useApp();
  const { router, notice, fault } = app;
  const isHelping = useSignal(false);
  const isJumping = useSignal(false);
  useKeys({
    help: () => (isHelping.value = true),
    jump: () => (isJumping.value = true),
    deployments: () => router.go('deployments', {}),
    up: () => router.located.value.place?.name !== 'deployments' && router.go('deployments', {}),
  });
  useFocusOnHeading();
  return (
    <>
      <a class="skip" href="#content" onClick={skip}>
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href={router.href('deployments', {})}>
          gx
        </a>
        <nav aria-label="Places">
          <a href={router.href('deployments', {})} aria-current={router.located.value.place?.name === 'deployments' ? 'page' : undefined}>
            Deployments
          </a>
        </nav>
        <Tenants />
        <ConnectionState />
        <Menu help={() => (isHelping.value = true)} />
      </header>
      {fault.value !== undefined && (
        <p class="fault" role="alert">
          {fault.value}
        </p>
      )}
      <div id="content" tabIndex={-1}>
        <Places />
      </div>
      <p class={notice.value === '' ? 'unseen' : 'notice'} role="status">
        {notice.value}
      </p>
      {isJumping.value && <Jump close={() => (isJumping.value = false)} />}
      {isHelping.value && <Help close={() => (isHelping.value = false)} />}
    </>
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
