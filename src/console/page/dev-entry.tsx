import { render } from 'preact';
import { DevApp, buildDevHref } from './dev/dev-app.ts';
import { FaultWall } from './shell/fault-wall.tsx';
import { PageProvider } from './shell/page-parts.ts';
import { showUncaught } from './shell/uncaught.ts';
import { StudioFrame } from './studio/frame.tsx';
import { StudioProvider } from './studio/studio-parts.ts';
import { Fault } from './shell/controls.tsx';
import { Icon } from './shell/icon.tsx';

/** The studio of `dev`: anyone who opens it may do everything. */
function DevStudio({ app }: { app: DevApp }) {
  const parts = {
    agent: app.agent,
    mayAct: true,
    part: app.part.value,
    href: buildDevHref,
    go: (part: string) => void (location.hash = buildDevHref(part)),
    readOnly: '',
  };
  return (
    <StudioProvider value={parts}>
      <header class="top">
        <a class="brand" href={buildDevHref('threads')}>
          <Icon name="layers" /> <span>gx</span>
        </a>
        <h1>Studio</h1>
      </header>
      <div id="content" tabIndex={-1}>
        <main class="deployment full">
          <Fault text={app.fault.value} />
          {app.faults.value.map((fault) => (
            <p key={fault} class="note">
              {fault}
            </p>
          ))}
          <StudioFrame />
        </main>
      </div>
      <p class={app.notice.value === '' ? 'unseen' : 'notice'} role="status">
        {app.notice.value}
      </p>
    </StudioProvider>
  );
}

function start(app: DevApp): void {
  showUncaught(app.fault);
  app.start();
  render(
    <PageProvider value={app}>
      <FaultWall>
        <DevStudio app={app} />
      </FaultWall>
    </PageProvider>,
    document.querySelector('#page') as HTMLElement,
  );
}

start(new DevApp());
