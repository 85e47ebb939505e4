import { gzipSync } from 'node:zlib';

/** The whole log of one stage. Each line begins with its time. */
export type StageLog = { stage: string; text: string };

/** Bytes that a packed log may have. A ConfigMap takes 1 MiB. */
const MOST_BYTES = 900 * 1024;
/** Characters that are tried first. Logs pack to a tenth, and rarely to less than a thirtieth. */
const MOST_CHARACTERS = 30 * MOST_BYTES;

/** Returns the logs of a build's stages as one text, gzipped. Of a long one, the newest lines that fit are kept. */
export function packedLog(stages: readonly StageLog[], most = MOST_BYTES): Buffer {
  let text = newest(stages.map(({ stage, text: lines }) => named(stage, lines)).join(''), MOST_CHARACTERS);
  for (;;) {
    const packed = gzipSync(text);
    if (packed.length <= most || text === '') return packed;
    // A tenth less than the share that would fit if all of it packed alike, so that few rounds are needed.
    text = newest(text, Math.floor((text.length * most * 0.9) / packed.length));
  }
}

/** Lines of a container begin with a time. A node that no longer has a log answers with a sentence in its place. */
const TIMED = /^\d{4}-\d\d-\d\dT\S+ /;

/** Puts the stage's name behind the time of each line. */
const named = (stage: string, lines: string): string =>
  lines
    .split('\n')
    .filter((line) => TIMED.test(line))
    .map((line) => `${line.replace(/^(\S+) /, `$1 [${stage}] `)}\n`)
    .join('');

/** Returns the last whole lines of a text, of so many characters at most. */
function newest(text: string, most: number): string {
  if (text.length <= most) return text;
  const cut = text.slice(text.length - most);
  return cut.slice(cut.indexOf('\n') + 1);
}
