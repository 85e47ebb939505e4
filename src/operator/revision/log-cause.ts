import { explainStartFailure } from '../pods/start-causes.ts';

/** Returns the message of a container that ends again and again, with the cause that is the last line of its log. */
export const explainByLog = (
  { message, reason }: { message: string; reason?: string },
  logTail: string | undefined,
): string =>
  reason === 'CrashLooping'
    ? explainStartFailure(message, logTail?.trimEnd().split('\n').at(-1))
    : message;
