import { render } from 'preact';
import { Jump } from './deployments/jump.tsx';
import { DeploymentList } from './deployments/list.tsx';
import { ConsoleApp, AppProvider } from './shell/app.ts';
import { PageProvider } from './shell/page-parts.ts';
import { FaultWall } from './shell/fault-wall.tsx';
import { wrapLazy } from './shell/lazy.tsx';
import { Shell, type Rooms } from './shell/shell.tsx';
import { showUncaught } from './shell/uncaught.ts';

const ROOMS: Rooms = {
  Deployments: DeploymentList,
  Deployment: wrapLazy(
    async () => (await import('./deployment/deployment-page.tsx')).DeploymentPage,
  ),
  Usage: wrapLazy(async () => (await import('./usage/tenant-usage.tsx')).TenantUsage),
  Jump,
};

function start(app: ConsoleApp): void {
  showUncaught(app.fault);
  app.start();
  render(
    <PageProvider value={app}>
      <AppProvider value={app}>
        <FaultWall>
          <Shell rooms={ROOMS} />
        </FaultWall>
      </AppProvider>
    </PageProvider>,
    document.querySelector('#page') as HTMLElement,
  );
}

start(new ConsoleApp());
