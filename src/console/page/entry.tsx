import { render } from 'preact';
import { ConsoleApp, AppProvider } from './shell/app.ts';
import { PageProvider } from './shell/page-parts.ts';
import { FaultWall } from './shell/fault-wall.tsx';
import { Shell } from './shell/shell.tsx';
import { showUncaught } from './shell/uncaught.ts';

function start(app: ConsoleApp): void {
  showUncaught(app.fault);
  app.start();
  render(
    <PageProvider value={app}>
      <AppProvider value={app}>
        <FaultWall>
          <Shell />
        </FaultWall>
      </AppProvider>
    </PageProvider>,
    document.querySelector('#page') as HTMLElement,
  );
}

start(new ConsoleApp());
