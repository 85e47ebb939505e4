import { render } from 'preact';
import { ConsoleApp, AppProvider } from './shell/app.ts';
import { PageProvider } from './shell/page-parts.ts';
import { FaultWall } from './shell/fault-wall.tsx';
import { Shell } from './shell/shell.tsx';
import { failureText } from './api/failure-text.ts';

/** Starts the page. A failure that nobody caught becomes a sentence on it. */
function start(app: ConsoleApp): void {
  const report = (error: unknown): void => {
    if (error instanceof DOMException && error.name === 'AbortError') return;
    app.fault.value = failureText(error);
  };
  addEventListener('error', ({ error, message }) => report(error ?? message));
  addEventListener('unhandledrejection', ({ reason }) => report(reason));
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
