/** Causes for which a runtime could not start a container. Most write them to the log alone, as the last line. */
const CAUSES: readonly (readonly [printed: RegExp, cause: string])[] = [
  [
    /exec format error/i,
    'The image is for another processor than that of the node: build it for both, or choose nodes by kubernetes.io/arch in placement.',
  ],
  [
    /argument list too long/i,
    'Its environment is too large: one variable has 131,072 bytes at most; mount large values as files.',
  ],
];

/** Returns the message of a container that does not start, with the cause that the words of the runtime mean. */
export function explainStartFailure(message: string, printed = message): string {
  const cause = CAUSES.find(([pattern]) => pattern.test(printed))?.[1];
  if (cause === undefined || message.includes(cause)) return message;
  return `${message.replace(/\.?$/, '.')} ${cause}`;
}
