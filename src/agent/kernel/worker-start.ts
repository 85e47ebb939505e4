import process from 'node:process';
import type { MessagePort } from 'node:worker_threads';
import { toError, StartError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { checkProtocolVersion } from '../../schema/wire/wall/rules.ts';

/** Starts a thread's work when the server's first message asks for it. The server hears why a start fails. */
export function startWhenAsked<Start>(
  port: MessagePort,
  start: (given: Start) => Promise<void>,
): void {
  const reportBroken = (sentence: string): void => port.postMessage({ kind: 'broken', sentence });
  port.once('message', (first: { kind: string; version: string; start: Start }) => {
    if (first.kind !== 'start') return;
    const fault = checkProtocolVersion('The server', first.version);
    if (fault !== undefined) {
      reportBroken(fault);
      return;
    }
    start(first.start).catch((thrown: unknown) => {
      const error = toError(thrown);
      reportBroken(error instanceof StartError ? error.message : (error.stack ?? error.message));
    });
  });
}

/** Logs the errors that code of a user leaves behind: of a timer, or a promise that nobody waits for. */
export function logStrays(log: Log, where: string): void {
  process.on('unhandledRejection', (thrown) =>
    log.error({ err: toError(thrown) }, `unhandled rejection in ${where}`),
  );
  process.on('uncaughtException', (thrown) =>
    log.error({ err: toError(thrown) }, `uncaught exception in ${where}`),
  );
}
