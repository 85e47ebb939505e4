import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { StartError } from '../../errors.ts';
import { printPretty, type Log } from '../../log.ts';
import type { RunnerCommand } from '../../schema/wire/wall/graph-start.ts';
import { FromUserCode, ToUserCode } from '../../schema/wire/wall/user-code.ts';
import { RunnerProcess } from '../kernel/runner-process.ts';
import { ReportedLiveness } from './liveness.ts';
import type { OpenCodeRunner } from './worker.ts';

type Options = {
  runner: RunnerCommand;
  /** Returns why the interpreter can't run the code; undefined where the fault is another one. */
  faultOf(): Promise<string | undefined>;
  prettyLog: boolean | undefined;
  log: Log;
};

/** Milliseconds that the lifespan of an application may take to end. */
const STOP_WITHIN = 3000;

/** Returns a function that opens the side which runs the user's own code in a process. */
export const buildProcessOpener =
  ({ runner, faultOf, prettyLog, log }: Options): OpenCodeRunner =>
  (listener) => {
    const liveness = new ReportedLiveness();
    const state = { isBroken: false, isReady: false, isKilled: false };
    const printLine = (line: string): boolean =>
      prettyLog === true ? printPretty(line) : process.stdout.write(`${line}\n`);
    const handleMessage = (message: FromUserCode): void => {
      if (message.kind === 'ready') state.isReady = true;
      else if (message.kind === 'broken') state.isBroken = true;
      else if (message.kind === 'pong') liveness.report(message);
      else if (message.kind === 'log') printLine(message.line);
      listener.message(message);
    };
    const messages = { to: ToUserCode, from: FromUserCode };
    const child = new RunnerProcess<ToUserCode, FromUserCode>(runner);
    child.listen({ messages, hear: handleMessage, log });
    const watchEnd = async (): Promise<void> => {
      const sentence = await child.ended;
      if (state.isReady && !state.isKilled) listener.crashed(new StartError(sentence));
      if (!state.isReady && !state.isBroken && !state.isKilled)
        listener.message({ kind: 'broken', sentence: (await faultOf()) ?? sentence });
      listener.ended();
    };
    const ended = watchEnd();
    const send = (message: ToUserCode): void => {
      if (message.kind === 'exchange' && message.message.kind === 'ask')
        liveness.noteSent(message.message.exchange);
      child.send(message);
    };
    const kill = (): Promise<void> => {
      state.isKilled = true;
      child.kill();
      return ended;
    };
    const stop = async (): Promise<void> => {
      state.isKilled = true;
      if (state.isReady) {
        child.send({ kind: 'stop' });
        await Promise.race([ended, wait(STOP_WITHIN, undefined, { ref: false })]);
      }
      await kill();
    };
    return { liveness, send, kill, stop };
  };
